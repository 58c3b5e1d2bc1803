package migrate

import (
	"errors"
	"fmt"
	"testing"
)

type stateError string

func (e stateError) Error() string    { return string(e) }
func (e stateError) SQLState() string { return string(e) }

type codeError int

func (e codeError) Error() string { return fmt.Sprint(int(e)) }
func (e codeError) Code() int     { return int(e) }

// Only what another migrator can cause is tried again.
func TestInTheWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{stateError("55P03"), true},
		{stateError("40P01"), true},
		{stateError("42P07"), true},
		{fmt.Errorf("x: %w", stateError("23505")), true},
		{stateError("42501"), false},
		{stateError("42601"), false},
		{codeError(5), true},
		{codeError(261), true},
		{codeError(6), true},
		{codeError(1), false},
		{errors.New("x"), false},
	} {
		if got := inTheWay(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}
