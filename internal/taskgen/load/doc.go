// Package load reads Go packages and turns the executors declared in them into
// the model. It reports everything that cannot be stored, with its position. No
// other package of the generator imports go/types.
package load
