// Package lock compares the model with what was generated before. What a
// database may hold of a kind is written down as facts, one for each field, and
// kept in the lock file for every revision. [Evolve] assigns revisions and reports
// incompatible changes; [Specimens] makes sample values of every revision.
package lock
