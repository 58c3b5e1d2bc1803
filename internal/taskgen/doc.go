// Package taskgen generates, from executors written by hand, the code that
// binds them: typed calls, registration and marshalling.
//
// The work goes one way, through plain values:
//
//	load     go/packages reads the packages, once
//	resolve  go/types becomes the model; all that cannot be stored is refused
//	check    rules across executors: names, collisions
//	evolve   the model against tasks.lock: revisions, incompatible changes
//	emit     the model becomes files
//	commit   files are compared with the disk and written
//
// Everything up to commit is pure: the same packages give the same bytes and
// the same diagnostics, and nothing is touched. Past resolve nothing knows
// go/types. Two models are never compared: what a database may hold is written
// down as facts, one a field, and facts are compared.
package taskgen
