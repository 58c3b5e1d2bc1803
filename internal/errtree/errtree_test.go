package errtree_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"taskkit.dev/internal/errtree"
)

func TestAll(t *testing.T) {
	t.Parallel()
	a, b := &fs.PathError{Op: "a", Err: fs.ErrExist}, &fs.PathError{Op: "b", Err: fs.ErrExist}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"none": {nil, ""}, "another": {fs.ErrExist, ""}, "itself": {a, "a"}, "wrapped": {fmt.Errorf("open: %w", a), "a"},
		"joined": {errors.Join(fs.ErrExist, a, fmt.Errorf("open: %w", errors.Join(b, a))), "aba"},
	} {
		got := ""
		for _, e := range errtree.All[*fs.PathError](tc.err) {
			got += e.Op
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
