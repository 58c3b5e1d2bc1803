// Package proptest holds tests only: whatever is called in whatever order, the
// public API does what a small model says.
//
// A check draws calls (submit, with keys, references, delays and priorities; stop, pause,
// resume, delete, retry; get, list; start a worker, drain it, cut it off from its
// database) and, with each task, what its executor will do batch by batch. The
// model shares no code with the engine. After each call it says which answers
// were possible, and at the end where each task must stand and what exactly it
// must have touched. A check that fails is made smaller until nothing can be left
// out.
package proptest
