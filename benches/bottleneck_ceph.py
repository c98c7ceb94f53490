"""Limits planted in the test bed of Ceph, which is loaded through its gateway by S3."""

import json
import subprocess

from bottleneck_bed import NotRun
from bottleneck_testbed import TestbedRun


class CephRun(TestbedRun):
    """A run of one plant on the bed."""

    bed_name = "ceph"
    rates = [10, 20, 30, 40, 55]
    loads = [2, 4, 8, 16, 32, 64, 96]

    def reach(self):
        return {
            "storage": {
                "type": "s3", "endpoint": "http://127.0.0.1:23580", "accesskey": "cosmark", "secretkey": "cosmark-secret",
                "path_style_access": True, "region": "us-east-1", "timeout": "60s",
            },
            "nodes": [
                {"name": "all in one", "role": "ceph", "type": "local", "interval": "500ms", "daemons": "ceph-osd,ceph-mon,ceph-mgr,radosgw"},
            ],
        }

    def bring_up(self):
        self.bed("up")
        if "gateway_cpu" in self.plant:
            self.limit("gateway", "radosgw", self.plant["gateway_cpu"])
        if "osd_cpu" in self.plant:
            self.limit("osds", "ceph-osd", self.plant["osd_cpu"])
        if "osd_writes_per_s" in self.plant:
            self.limit("osds", "ceph-osd", write_iops=self.plant["osd_writes_per_s"])
        if "requests" in self.plant:
            self.configure("rgw_max_concurrent_requests", self.plant["requests"])

    def configure(self, key, value):
        """The gateway, while it runs: it forgets this when it ends."""
        # Each time that it starts it has another one, and leaves it behind.
        sockets = sorted((self.bed_dir / "sockets").glob("*rgw*.asok"), key=lambda one: one.stat().st_mtime)
        if not sockets:
            raise NotRun("the gateway has no socket")
        done = subprocess.run(
            ["ceph", "daemon", sockets[-1], "config", "set", key, str(value)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
        if done.returncode or "error" in json.loads(done.stdout or "{}"):
            raise NotRun(f"{key}: {(done.stderr or done.stdout).strip()[-300:]}")
