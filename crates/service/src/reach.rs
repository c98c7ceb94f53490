//! Where other machines reach what listens here.

use std::net::SocketAddr;

/// Host and port by which other machines reach what listens at `listen`: at every address means by this machine's name.
#[must_use]
pub fn reached_at(listen: SocketAddr, hostname: &str) -> String {
    if listen.ip().is_unspecified() { format!("{hostname}:{}", listen.port()) } else { listen.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_listens_at_every_address_is_reached_by_this_machines_name() {
        let at = |listen: &str| reached_at(listen.parse().unwrap(), "lab-7");
        assert_eq!([at("0.0.0.0:19088"), at("[::]:19088")], ["lab-7:19088", "lab-7:19088"]);
        assert_eq!([at("10.0.0.7:80"), at("[::1]:4222")], ["10.0.0.7:80", "[::1]:4222"]);
    }
}
