// Package mutants builds known faults into this engine and checks that the tests
// detect them.
//
// A test that passes shows that a failure does not happen. That the test would
// notice the failure is shown only by a tree in which it does happen. So each patch
// removes one guard, in a few lines, and the tests it names must fail on the patched
// tree. A build error or a timeout does not count as a failure.
//
// There are mutants for the guards that the promise rests on: of leases, fences,
// commits, takeovers, effects exactly once, and rights. Other features have tests
// and no mutant.
//
//	patches/NAME.patch ──git apply──▶ copies of the files it touches
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
// Everything about a mutant is in its patch. Before the first line of the diff are
// these lines, "Test" once or more:
//
//	Subject: takeover
//	Fault: the reaper releases one page of orphans and leaves the rest
//	Package: internal/store/dbstore
//	Test: TestConformance/postgres/ReapGoesOn
//	Test: TestConformance/sqlite/ReapGoesOn
//
// Subject is one of [Subjects]. Package is the directory of the tests, from the
// root of the repository.
//
// # When a patch no longer applies
//
// The code around the guard has changed. Remove the guard by hand, see that the
// named tests fail, write the diff below the header, and undo the change:
//
//	p=internal/proof/mutants/patches/NAME.patch
//	{ sed '/^diff --git/,$d' $p; git diff -U2; } > /tmp/p && mv /tmp/p $p && git checkout .
//
// (git checkout would also undo a patch that is already committed: check out the
// files of the diff alone if the tree holds other changes.)
//
// When a test was renamed, correct the Test lines.
package mutants
