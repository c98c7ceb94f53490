"""Draw the figures of ICCLab's comparison by the original cosbench-plot, from the archive of `cosmark study iccl` or, for
those that compare three copies with one, of `cosmark study iccl-replicas`.

    python2.7 cosbench_plot.py COSBENCH-PLOT ARCHIVE OUTPUT

COSBENCH-PLOT is a checkout of github.com/icclab/cosbench-plot (baf910e), which is not changed; it needs Python 2.7 with
matplotlib 1.5.3 and regex. ARCHIVE is the folder `archive` of the study, OUTPUT a folder for the pictures (SVG). Every
workload that both systems have is drawn, with the stages that the study ran. Whose archive it is is seen from its runs.
"""

import os
import re
import sys

import matplotlib

matplotlib.use("Agg")

# By study: its two systems, the names of its workloads, and its mixes: part of the stage's name, title, operations.
STUDIES = {
    "iccl": (
        ("ceph", "swift"),
        r"[0-9]+cont_[0-9]+[km]b",
        (("r100", "100% read", ("read",)), ("w100", "100% write", ("write",)), ("r80w15d5", "mix", ("read", "write"))),
    ),
    "iccl-replicas": (("three", "single"), r"[0-9]+[KM]B", (("write", "100% write", ("write",)),)),
}


def cells(archive, study):
    """The number of the run of each system and workload of a study."""
    systems, workload, _ = STUDIES[study]
    cell = re.compile(r"w(\d+)-%s\.([a-z]+)\.(%s)\.r1$" % (study, workload))
    found = dict((system, {}) for system in systems)
    for match in filter(None, map(cell.match, sorted(os.listdir(archive)))):
        if match.group(2) in found:
            found[match.group(2)][match.group(3)] = int(match.group(1))
    return found


def main(checkout, archive, output):
    sys.path.insert(0, checkout)
    from plotter.plotgenerator import RTPlotGenerator, StagePlotGenerator, WorkloadPlotGenerator

    for study in sorted(STUDIES):
        systems, workloads, mixes = STUDIES[study]
        runs = cells(archive, study)
        both = sorted(set(runs[systems[0]]) & set(runs[systems[1]]))
        if both:
            break
    else:
        sys.exit("no workload that ran on both systems of one of %s in %s" % (" and ".join(sorted(STUDIES)), archive))

    def generator(kind, folder):
        folder = os.path.join(output, folder)
        if not os.path.isdir(folder):
            os.makedirs(folder)
        # cosbench-plot joins paths by adding names.
        drawn = kind(archive + "/", folder + "/")
        for system in systems:
            drawn.addWorkloadIds(system, [runs[system][workload] for workload in both])
        return drawn, folder + "/"

    for mix, label, operations in mixes:
        stages, folder = generator(StagePlotGenerator, "stages")
        stages.setFilenameFilter("-%s-" % mix)
        stages.createAllStagePlots(folder)
        for workload in both:
            stages, folder = generator(StagePlotGenerator, "throughput")
            stages.setWorkloadFilter(r"\.%s\." % workload)
            stages.setFilenameFilter("-%s-" % mix)
            for operation in operations:
                title = "%s - %s - %s throughput" % (workload, label, operation)
                style = lambda stage: "-" if systems[0] in stage else "--"  # noqa: E731
                stages.createAggregatedChart(folder, title, r"-([0-9]+)$", ["Throughput" + operation], style)
        for operation in operations:
            most, _ = generator(WorkloadPlotGenerator, "maxima")
            most.setUnit("op/s")
            title = "%s - %s throughput - max of workstage averages" % (label, operation)
            name = r"^w[0-9]+-%s\.[a-z]+\.(%s)\.r1\.csv" % (study, workloads)
            most.createWorkloadsMaxChart("-%s-" % mix, operation, "Throughput", title, name, r"-([0-9]+)$")
            for workload in both:
                times, _ = generator(RTPlotGenerator, "times")
                title = "%s - %s - %s times" % (workload, label, operation)
                stage = r".*-%s-([0-9]+)-.*main-%s$" % (mix, operation)
                times.createRtPlots(title, list(systems), r"\.%s\." % workload, stage)
    print("%d pictures" % sum(len(files) for _, _, files in os.walk(output)))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
