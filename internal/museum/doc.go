// Package museum keeps the faults of other queues, each as a patch that builds
// it into this engine, and the test that must find it there.
//
// Users of queues have complained of thirty causes, again and again (see
// docs/reliability.md). A test that was written for a cause shows that the cause
// is gone; that it would notice if the cause came back shows only a tree in which
// it has come back. So a patch takes one guard away, in a handful of lines, and
// the named test, run on the patched tree, must fail: not the build, not a
// timeout, that test.
//
//	NN-name.patch ──git apply──▶ copies of the files it touches
//	                                  │ go test -overlay
//	                             the named test ──▶ must FAIL
//
// The patched files stand in a directory of their own and are laid over the tree
// by the go command, so that nothing in the tree is changed and all that the
// patch does not touch comes from the build cache.
//
// Everyday tests hold that every patch still applies, gives Go that parses, and
// names a test that exists. With TASKKIT_PROVE every patch is tried.
//
// # When a patch does not apply any more
//
// The code around the guard has changed. Take the guard away by hand, look that
// the named test fails, write the difference over the patch, and undo the change:
//
//	git diff -U2 > internal/museum/NN-name.patch && git checkout .
package museum
