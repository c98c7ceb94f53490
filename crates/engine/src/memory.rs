//! Memory that is used again. A load thread makes new histograms for every slice of time. By default glibc takes such
//! large pieces from the kernel each time and gives them back, and every page costs a fault when it is first touched:
//! measured, 2.6 ms once a second in which the thread sends nothing (mallopt(3)).

use cosmark_metrics::OpSnapshot;

/// glibc's upper bound for this threshold on 64-bit machines.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGEST_ON_HEAP: libc::c_int = 32 << 20;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEEP_FREE: libc::c_int = 512 << 20;
/// Operations of a work whose histograms are made ready; more are a rarity that would cost much memory.
const MOST_READY: usize = 16;
/// Slices on their way through the program while the next one fills.
const SLICES_ABOUT: usize = 3;

/// From now on freed memory stays with this process.
pub fn keep_freed() {
    // SAFETY: mallopt may be called at any time from any thread and takes no pointers.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST_ON_HEAP);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEEP_FREE);
    }
}

/// Touches as much memory as the snapshots of `operations` operations need and frees it, so that it is at hand.
pub fn make_ready(operations: usize, paced: bool) {
    let count = operations.min(MOST_READY) * SLICES_ABOUT;
    // A fresh histogram is zero pages that nobody has touched; its copy is written.
    let ready: Vec<_> = (0..count).map(|_| OpSnapshot::preallocated(paced).clone()).collect();
    drop(std::hint::black_box(ready));
}
