// Package mutants builds known faults into this engine and checks that the tests
// detect them.
//
// Users have seen other queues fail in thirty ways, again and again (see
// docs/reliability.md). A test written for such a failure mode shows that the
// failure does not happen. That the test would notice the failure is shown only
// by a tree in which it does happen. So each patch removes one guard, in a few
// lines, and the tests it names must fail on the patched tree. A build error or
// a timeout does not count as a failure.
//
//	patches/NN-name.patch ──git apply──▶ copies of the files it touches
//	                                          │ go test -overlay
//	                                     the named tests ──▶ must FAIL
//
// The patched copies are in a temporary directory and the go command overlays
// them on the tree. Nothing in the tree changes, and packages that the patch does
// not touch come from the build cache.
//
// The everyday tests check that every patch applies, that the patched packages
// build, and that the named tests exist. They report all broken patches in one
// run. With TASKKIT_PROVE set, every mutant is tried.
//
// # The header of a patch
//
// Everything about a mutant is in its patch. NN is the number of the failure
// mode, 00 for a fault that no other queue has shown. Before the first line of
// the diff are these lines, "Test" once or more:
//
//	Failure mode: 5, stuck in running for hours
//	Fault: the reaper releases one page of orphans and leaves the rest
//	Package: internal/store
//	Test: TestConformance/postgres/ReapGoesOn
//	Test: TestConformance/sqlite/ReapGoesOn
//
// Package is the directory of the tests, from the root of the repository. The
// cause after the number is that of [FailureModes]; after 0 it is free text.
//
// # When a patch no longer applies
//
// The code around the guard has changed. Remove the guard by hand, see that the
// named tests fail, write the diff below the header, and undo the change:
//
//	p=internal/proof/mutants/patches/NN-name.patch
//	{ sed '/^diff --git/,$d' $p; git diff -U2; } > /tmp/p && mv /tmp/p $p && git checkout .
//
// (git checkout would also undo a patch that is already committed: check out the
// files of the diff alone if the tree holds other changes.)
//
// When a test was renamed, correct the Test lines and run make figures, because
// docs/reliability.md lists them.
package mutants
