// Package taskkind is what generated code needs to define a kind: its Definition, the
// upgrades of its former revisions, and the checks that generated code still fits the
// types and the library it was generated for. Services and executors do not need it; a
// test that defines a kind by hand passes a [Definition] to taskkit.NewKind.
package taskkind
