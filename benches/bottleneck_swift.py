"""Limits planted in the test bed of Swift."""

from bottleneck_testbed import TestbedRun


class SwiftRun(TestbedRun):
    """A run of one plant on the bed."""

    bed_name = "swift"
    # The lowest loads come by the clock: one worker alone already takes most of a proxy that has a quarter of a processor.
    rates = [10, 20, 30, 40, 55]
    loads = [2, 4, 8, 12, 16, 24, 32]

    def reach(self):
        return {
            "auth": {"type": "swauth", "auth_url": "http://127.0.0.1:23080/auth/v1.0", "username": "test:tester", "password": "testing"},
            "storage": {"type": "swift", "timeout": "60s"},
            "nodes": [{"name": "all in one", "role": "swift", "type": "local", "interval": "500ms", "daemons": "swift-"}],
        }

    def bring_up(self):
        workers, link = self.plant.get("proxy_workers", 2), self.plant.get("link_mbit", 0)
        self.bed("up", SWIFT_DAEMONS="none", SWIFT_PROXY_WORKERS=str(workers), SWIFT_LINK=str(link))
        if "proxy_cpu" in self.plant:
            self.limit("proxies", "proxy-server.conf", self.plant["proxy_cpu"])
        if "object_cpu" in self.plant:
            self.limit("objects", "object-server.conf", self.plant["object_cpu"])
        if "object_writes_per_s" in self.plant:
            self.limit("objects", "object-server.conf", write_iops=self.plant["object_writes_per_s"])
