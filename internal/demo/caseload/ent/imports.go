// Package ent is the client of the demonstration's domain, generated from its schema.
package ent

import "entgo.io/ent"

// The generator's formatter takes missing imports from other files of the package, and
// these are written at the same time. This file is not, so it determines which package
// ent is imported: taskkit's own has the same names.
var _ ent.Interface
