//! Checks the numbers of a behaviour, all at once; each complaint names its place and the remedy.

use super::*;

struct Complaints(Vec<String>);

impl Complaints {
    fn unless(&mut self, good: bool, place: &str, complaint: impl FnOnce() -> String) {
        if !good {
            self.0.push(format!("{place}: {}", complaint()));
        }
    }

    fn seconds(&mut self, place: &str, what: &str, value: f64) {
        // 10^7 s is 115 days: far beyond a run, far below overflow in nanoseconds.
        self.unless((0.0..=1e7).contains(&value), place, || {
            format!("{what} is {value}; give seconds between 0 and 1e7")
        });
    }

    fn milliseconds(&mut self, place: &str, what: &str, value: f64) {
        self.unless((0.0..=86_400_000.0).contains(&value), place, || {
            format!("{what} is {value}; give milliseconds between 0 and 86400000 (one day)")
        });
    }

    fn rate(&mut self, place: &str, what: &str, value: f64) {
        self.unless((1e-6..=1e12).contains(&value), place, || {
            format!("{what} is {value}; give a number per second above 0")
        });
    }

    fn status(&mut self, place: &str, status: u16) {
        self.unless((300..=599).contains(&status), place, || {
            format!("status {status} is no error; give 300..=599")
        });
    }

    fn law(&mut self, place: &str, law: &Law) {
        self.0.extend(law.problems().into_iter().map(|problem| format!("{place}: {problem}")));
    }

    fn select(&mut self, place: &str, rule: &impl Rule) {
        let select = rule.select();
        self.unless(!select.op.is_empty(), place, || {
            "op is an empty list; name operations or leave it out".to_owned()
        });
        self.seconds(place, "from_s", select.from_s);
        if let Some(until) = select.until_s {
            self.seconds(place, "until_s", until);
            self.unless(until > select.from_s, place, || {
                format!("until_s {until} is not after from_s {}; the rule would never act", select.from_s)
            });
        }
        let picks = [select.share.is_some(), select.every_nth.is_some(), select.exact.is_some()];
        self.unless(picks.iter().filter(|set| **set).count() <= 1, place, || {
            "give only one of share, every_nth and exact".to_owned()
        });
        if let Some(share) = select.share {
            self.unless((0.0..=1.0).contains(&share), place, || {
                format!("share is {share}; give a number between 0 and 1")
            });
        }
        self.unless(select.every_nth != Some(0), place, || "every_nth is 0; give 1 or more".to_owned());
        if let Some(exact) = select.exact {
            let good = exact.of > 0 && exact.count <= exact.of && u64::from(exact.of) <= MAX_BLOCK;
            self.unless(good, place, || {
                format!(
                    "exact is {} of {}; give count <= of, and of in 1..={MAX_BLOCK}",
                    exact.count, exact.of
                )
            });
        }
    }

    fn rules<R: Rule>(&mut self, name: &str, rules: &[R], mut each: impl FnMut(&mut Self, &str, &R)) {
        for (index, rule) in rules.iter().enumerate() {
            let place = format!("{name}[{index}]");
            self.select(&place, rule);
            each(self, &place, rule);
        }
    }
}

impl Behaviour {
    /// Checks every number.
    ///
    /// # Errors
    /// [`BehaviourError::Invalid`] with all complaints.
    pub fn check(&self) -> Result<(), BehaviourError> {
        let mut c = Complaints(Vec::new());
        self.check_rules(&mut c);
        self.check_load(&mut c);
        self.check_server(&mut c);
        if c.0.is_empty() { Ok(()) } else { Err(BehaviourError::Invalid(c.0)) }
    }

    fn check_rules(&self, c: &mut Complaints) {
        c.rules("delay", &self.delay, |c, place, rule| match &rule.law {
            Some(law) => c.law(place, law),
            None => {
                c.unless(false, place, || "law is missing, for example `law: {constant_ms: 5}`".to_owned())
            }
        });
        c.rules("errors", &self.errors, |c, place, rule| {
            c.status(place, rule.status);
            c.milliseconds(place, "delay_ms", rule.delay_ms.unwrap_or(0.0));
        });
        c.rules("redirect_loop", &self.redirect_loop, |c, place, rule| {
            c.unless([301, 302, 307, 308].contains(&rule.status), place, || {
                format!("status {} is no redirect; give 301, 302, 307 or 308", rule.status)
            });
        });
        c.rules("error_body_with_200", &self.error_body_with_200, |_, _, _| {});
        c.rules("reset", &self.reset, |_, _, _| {});
        c.rules("truncate", &self.truncate, |c, place, rule| {
            c.unless((0.0..1.0).contains(&rule.keep), place, || {
                format!("keep is {}; give a share of at least 0 and below 1", rule.keep)
            });
        });
        c.rules("flip_byte", &self.flip_byte, |_, _, _| {});
        c.rules("wrong_content_length", &self.wrong_content_length, |c, place, rule| {
            c.unless(rule.by != 0, place, || {
                "by is 0, which is the right length; give another number".to_owned()
            });
        });
        c.rules("garbage_status_line", &self.garbage_status_line, |_, _, _| {});
        c.rules("endless_headers", &self.endless_headers, |_, _, _| {});
        c.rules("slow_trickle", &self.slow_trickle, |c, place, rule| {
            c.unless(rule.bytes > 0, place, || "bytes is 0; give 1 or more".to_owned());
            c.milliseconds(place, "every_ms", rule.every_ms);
        });
        c.rules("bandwidth", &self.bandwidth, |c, place, rule| {
            for (what, value) in
                [("bytes_per_s", rule.bytes_per_s), ("upload_bytes_per_s", rule.upload_bytes_per_s)]
            {
                if let Some(value) = value {
                    c.rate(place, what, value);
                }
            }
            c.milliseconds(place, "first_byte_ms", rule.first_byte_ms);
        });
        c.rules("chunked", &self.chunked, |_, _, _| {});
        c.rules("stale", &self.stale, |c, place, rule| {
            c.milliseconds(place, "window_ms", rule.window_ms);
            c.unless(rule.window_ms > 0.0, place, || {
                "window_ms is missing or 0; give milliseconds".to_owned()
            });
        });
        c.rules("broken_promise", &self.broken_promise, |_, _, _| {});
        c.rules("stale_list", &self.stale_list, |c, place, rule| {
            c.milliseconds(place, "window_ms", rule.window_ms);
            c.unless(rule.window_ms > 0.0, place, || {
                "window_ms is missing or 0; give milliseconds".to_owned()
            });
        });
    }

    fn check_load(&self, c: &mut Complaints) {
        c.rules("rate_cap", &self.rate_cap, |c, place, rule| {
            c.rate(place, "per_s", rule.per_s);
            c.unless((1.0..=1e9).contains(&rule.burst), place, || {
                format!("burst is {}; give 1 or more", rule.burst)
            });
            c.status(place, rule.status);
            c.milliseconds(place, "delay_ms", rule.delay_ms);
        });
        let mut stalls: Vec<(f64, f64)> = Vec::new();
        for (index, stall) in self.stalls.iter().enumerate() {
            let place = format!("stalls[{index}]");
            c.seconds(&place, "at_s", stall.at_s);
            c.seconds(&place, "for_s", stall.for_s);
            c.unless(!stall.op.is_empty(), &place, || "op is an empty list".to_owned());
            stalls.push((stall.at_s, stall.at_s + stall.for_s));
        }
        stalls.sort_by(|a, b| a.0.total_cmp(&b.0));
        c.unless(stalls.windows(2).all(|pair| pair[0].1 <= pair[1].0), "stalls", || {
            "two stalls overlap; make one of them".to_owned()
        });
        if let Some(capacity) = &self.capacity {
            c.unless((1..=1_000_000).contains(&capacity.servers), "capacity", || {
                format!("servers is {}; give 1..=1000000", capacity.servers)
            });
            c.unless(capacity.service_ms.is_some() != capacity.service.is_some(), "capacity", || {
                "give either service_ms or service (a law)".to_owned()
            });
            if let Some(law) = capacity.law() {
                c.law("capacity", &law);
            }
        }
        if let Some(schedule) = &self.schedule {
            c.unless(!schedule.points.is_empty(), "schedule", || {
                "points is empty; give at least one".to_owned()
            });
            c.status("schedule", schedule.status);
            c.milliseconds("schedule", "delay_ms", schedule.delay_ms);
            c.unless((1.0..=1e9).contains(&schedule.burst), "schedule", || {
                format!("burst is {}; give 1 or more", schedule.burst)
            });
            for (index, point) in schedule.points.iter().enumerate() {
                let place = format!("schedule.points[{index}]");
                c.seconds(&place, "at_s", point.at_s);
                c.unless((0.0..=1e9).contains(&point.per_s), &place, || {
                    format!("per_s is {}; give 0..=1e9", point.per_s)
                });
            }
            c.unless(schedule.points.windows(2).all(|pair| pair[0].at_s < pair[1].at_s), "schedule", || {
                "points are not in order of time; sort them by at_s".to_owned()
            });
        }
    }

    fn check_server(&self, c: &mut Complaints) {
        for rate in
            self.link.iter().flat_map(|link| [link.download_bytes_per_s, link.upload_bytes_per_s]).flatten()
        {
            c.rate("link", "a rate", rate);
        }
        c.unless(self.etag == EtagKind::Cheap || self.store.mode == StoreMode::Full, "etag", || {
            "md5 needs the content; use `store: {mode: full}` or `etag: cheap`".to_owned()
        });
        c.milliseconds("accept_delay_ms", "it", self.accept_delay_ms);
        c.unless(self.close_after != Some(0), "close_after", || "it is 0; give 1 or more".to_owned());
        c.unless(self.close_silently_after != Some(0), "close_silently_after", || {
            "it is 0; give 1 or more".to_owned()
        });
        c.unless(self.max_connections > 0, "max_connections", || "it is 0; give 1 or more".to_owned());
        c.unless(self.spin_us <= 10_000, "spin_us", || {
            format!("{} is too long; give at most 10000", self.spin_us)
        });
        c.unless(!self.swift.policies.is_empty(), "swift.policies", || "name at least one".to_owned());
        c.milliseconds("swift.token_lifetime_ms", "it", self.swift.token_lifetime_ms.unwrap_or(0.0));
        if let Some(tls) = &self.tls {
            c.unless(tls.cert.is_some() == tls.key.is_some(), "tls", || {
                "give both cert and key, or neither".to_owned()
            });
        }
    }
}
