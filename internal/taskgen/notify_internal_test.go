package taskgen

import (
	"strings"
	"testing"
)

// The subscriptions of all kinds are joined with the subscriptions of a kind.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ all, directive, want string }{
		{"", "", ""},
		{"", "none", ""},
		{"", "ops:late", "ops:late"},
		{"ops:dead_letter,owner", "", "ops:dead_letter,owner"},
		{"ops:dead_letter,owner", "none", ""},
		{"ops:dead_letter,owner", "ops:started", "owner,ops:started"},
		{"ops:dead_letter", "desk:approval+late", "ops:dead_letter,desk:approval+late"},
	} {
		all, err := subscriptions(c.all)
		if got := subscribe(all, c.directive); err != nil || got != c.want {
			t.Errorf("all kinds have %q and a kind %q: got %q (%v), want %q", c.all, c.directive, got, err, c.want)
		}
	}
	_, err := Generate(t.Context(), Options{Notify: "ops:end"})
	if err == nil || !strings.Contains(err.Error(), `-notify ops:end: target ops: "end" is no event`) {
		t.Errorf("got %v", err)
	}
}
