// Package errtree finds all errors of a type in an error that joins several. errors.As finds the first.
package errtree

// All returns the errors of type E in the tree of an error, in its order. Below one of them it does not look.
func All[E error](err error) []E {
	switch e := err.(type) { //nolint:errorlint // the tree is walked here
	case E:
		return []E{e}
	case interface{ Unwrap() []error }:
		var all []E
		for _, one := range e.Unwrap() {
			all = append(all, All[E](one)...)
		}
		return all
	case interface{ Unwrap() error }:
		return All[E](e.Unwrap())
	}
	return nil
}
