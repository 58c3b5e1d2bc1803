package taskgen

import (
	"slices"
	"strings"

	"taskkit.dev/taskkit/notice"
)

// subscriptions reads the subscriptions of all kinds.
func subscriptions(text string) ([]notice.Subscription, error) {
	if text == "" {
		return nil, nil
	}
	return notice.Parse(text)
}

// subscribe returns the subscriptions of a kind: all, with the ones of its directive, which was checked, added and in the place of others of the
// same target.
func subscribe(all []notice.Subscription, directive string) string {
	if directive == notice.None {
		return ""
	}
	own, _ := subscriptions(directive)
	list := slices.DeleteFunc(slices.Clone(all), func(s notice.Subscription) bool {
		return slices.ContainsFunc(own, func(o notice.Subscription) bool { return o.Target == s.Target })
	})
	var words []string
	for _, s := range append(list, own...) {
		words = append(words, s.String())
	}
	return strings.Join(words, ",")
}
