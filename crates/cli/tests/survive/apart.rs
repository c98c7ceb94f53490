//! Faults of the way between machines by the packet filter, in network namespaces of the test alone: of IP version 6, of packets
//! that a router passes on, and between two nodes that both answer their clients.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use cosmark_metrics::SlotResult;

use crate::daemons::{RUN, guardians, record};
use crate::eventually;
use crate::support::{Server, cosmark, operation, skipped, stderr, stdout};

/// A machine with a network of its own.
struct Machine(Child);

impl Machine {
    fn begin() -> Result<Self, String> {
        let child = Command::new("unshare")
            .args(["-n", "sleep", "900"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|cause| format!("unshare: {cause}"))?;
        let mut machine = Self(child);
        let own = fs::read_link("/proc/self/ns/net").map_err(|cause| cause.to_string())?;
        let mut is_over = false;
        eventually("a network namespace", || {
            is_over = machine.0.try_wait().is_ok_and(|status| status.is_some());
            is_over || fs::read_link(machine.net()).is_ok_and(|net| net != own)
        });
        if is_over {
            return Err("no network namespace can be made".to_owned());
        }
        Ok(machine)
    }

    fn net(&self) -> String {
        format!("/proc/{}/ns/net", self.0.id())
    }

    /// A program on it.
    fn command(&self, directory: &Path, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.net())).args(["--", program]).current_dir(directory);
        command
    }

    fn shell(&self, text: &str) -> Result<(), String> {
        let output = self.command(Path::new("/"), "sh").args(["-ec", text]).output();
        let output = output.map_err(|cause| format!("nsenter: {cause}"))?;
        if output.status.success() { Ok(()) } else { Err(format!("{text}: {}", stderr(&output))) }
    }

    /// A store on it.
    fn store(&self, directory: &Path, address: &str) -> Server {
        let mut command = self.command(directory, cosmark(directory).get_program().to_str().unwrap());
        command.args(["serve", "--allow-remote", "--listen", &format!("{address}:0")]);
        Server::start_by(command)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A client and two nodes, each on a network of its own, and the router between them. The machine at place N has the addresses
/// 10.99.N.2 and fd00:99:N::2.
struct Network {
    router: Machine,
    client: Machine,
    nodes: [Machine; 2],
}

impl Network {
    /// Why there is none.
    fn begin() -> Result<Self, String> {
        let all = Self {
            router: Machine::begin()?,
            client: Machine::begin()?,
            nodes: [Machine::begin()?, Machine::begin()?],
        };
        all.router.shell(
            "nft 'add table inet t; delete table inet t'; ip link add one type veth peer name other; ip link delete one",
        )?;
        // From here on what fails is a mistake, and not what the machine lacks.
        let shell = |machine: &Machine, text: &str| machine.shell(text).unwrap_or_else(|why| panic!("{why}"));
        shell(
            &all.router,
            "ip link set lo up; echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding",
        );
        for (place, machine) in [(1, &all.client), (2, &all.nodes[0]), (3, &all.nodes[1])] {
            let number = machine.0.id();
            shell(
                &all.router,
                &format!(
                    "ip link add to{place} type veth peer name eth0 netns {number};                      ip address add 10.99.{place}.1/24 dev to{place};                      ip -6 address add fd00:99:{place}::1/64 dev to{place} nodad; ip link set dev to{place} up"
                ),
            );
            shell(
                machine,
                &format!(
                    "ip link set lo up; ip address add 10.99.{place}.2/24 dev eth0;                      ip -6 address add fd00:99:{place}::2/64 dev eth0 nodad; ip link set dev eth0 up;                      ip route add default via 10.99.{place}.1; ip -6 route add default via fd00:99:{place}::1"
                ),
            );
        }
        Ok(all)
    }

    /// A load of the client on a store, while one fault is made for 4 seconds: its slot, and how many operations failed.
    fn slot(&self, directory: &Path, store: &Server, fault: &str) -> (SlotResult, u64) {
        store.target(directory, None);
        let text = format!(
            "name: broken\ndefaults: {{containers: \"r(1,1)\", sizes: c(1)KB}}\nstages:\n  - name: init\n    works: [{{type: init, \
             workers: 1}}]\n  - name: main\n    faults:\n      - {{name: gone, type: network, {fault}, at: 300 objects, repeats: 1, \
             hold: 4s, slot: 10s, keep: 1s}}\n    works:\n      - {{name: main, workers: 64, total_ops: 2400, interval: 1s, \
             acceptable_failure_ratio: 1, rate: {{shape: constant, rate: 100/s, when_full: drop}}, operations: [{{type: write, \
             objects: u(1,99)}}]}}\n"
        );
        fs::write(directory.join("broken.yaml"), text).unwrap();
        drop(fs::remove_dir_all(directory.join("archive")));
        let mut command = self.client.command(directory, cosmark(directory).get_program().to_str().unwrap());
        let output = command.args(RUN).args(["--target", "target.yaml"]).output().unwrap();
        let record = record(directory);
        let slot = record.stages[1].faults[0].slots[0].clone();
        assert_eq!(slot.void, None, "{:?} {}", record.events, stderr(&output));
        let proof = slot.proof.clone().unwrap_or_default();
        assert!(proof.contains("packets were dropped, and") && proof.contains("does not answer"), "{proof}");
        assert!(guardians(directory).is_empty());
        (slot, operation(&record, "main", "write").failed)
    }

    /// Tables of the packet filter of each machine.
    fn tables(&self, directory: &Path) -> String {
        let machines = [&self.router, &self.client, &self.nodes[0], &self.nodes[1]];
        let list = |machine: &Machine| {
            stdout(&machine.command(directory, "nft").args(["list", "tables"]).output().unwrap())
        };
        machines.map(list).concat()
    }
}

/// Host and port of a store, as a workload names them.
fn of(store: &Server) -> String {
    store.says("endpoint").replace("http://", "").trim_end_matches('/').to_owned()
}

/// Operations per second of the seconds that lie in the hold from their beginning to their end.
fn held(slot: &SlotResult) -> Vec<f64> {
    let (from, to) = (slot.landed_s.unwrap(), slot.heal_s.unwrap());
    let starts = (0..slot.course_per_s.len()).map(|at| slot.course_from_s + at as f64 * slot.course_step_s);
    let seconds = starts.zip(&slot.course_per_s);
    let held: Vec<f64> = seconds
        .filter(|(start, _)| *start > from && start + slot.course_step_s < to)
        .map(|(_, rate)| *rate)
        .collect();
    assert!(!held.is_empty(), "no whole second in the hold: {slot:?}");
    held
}

#[test]
fn a_router_drops_what_it_passes_on_of_either_version_of_ip_and_passes_it_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let network = match Network::begin() {
        Ok(network) => network,
        Err(why) => return skipped(&why),
    };
    for address in ["10.99.3.2", "[fd00:99:3::2]"] {
        let store = network.nodes[1].store(path, address);
        let fault = format!("of: '{}', partition: true, netns: {}", of(&store), network.router.net());
        let (slot, _) = network.slot(path, &store, &fault);
        let held = held(&slot);
        assert!(held.iter().all(|rate| *rate == 0.0), "{address}: something passed: {held:?} {slot:?}");
        let after = slot.course_per_s.last().unwrap();
        assert!(*after > 0.0, "{address}: nothing passes afterwards: {slot:?}");
        assert_eq!(network.tables(path), "", "{address}: a rule is left");
    }
}

#[test]
fn two_nodes_are_cut_off_from_each_other_while_their_clients_reach_both() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let network = match Network::begin() {
        Ok(network) => network,
        Err(why) => return skipped(&why),
    };
    for address in ["10.99.3.2", "[fd00:99:3::2]"] {
        let store = network.nodes[1].store(path, address);
        let fault = format!("of: '{}', partition: true, netns: {}", of(&store), network.nodes[0].net());
        let (slot, failed) = network.slot(path, &store, &fault);
        let held = held(&slot);
        // One second without any is what a machine has that stands still for that long.
        let without = held.iter().filter(|rate| **rate <= 0.0).count();
        assert!(without <= 1 && without < held.len(), "{address}: clients were cut off: {held:?} {slot:?}");
        assert_eq!(failed, 0, "{address}: {slot:?}");
        assert_eq!(network.tables(path), "", "{address}: a rule is left");
    }
}
