package taskkit

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"taskkit.dev/internal/store"
)

// suffixMin is the shortest suffix of an id that may stand for it.
const suffixMin = 4

var suffix = regexp.MustCompile(`^[0-9a-f-]+$`)

// Resolve finds the task that a person means: by its full id, by a unique
// suffix of 4 or more characters (the first half of UUIDv7s made at the same
// time looks alike), or by @last, the newest that is no child. Otherwise an *[IDError]. A suffix
// is looked for among the newest 100,000 tasks.
func (c *Client) Resolve(ctx context.Context, text string) (ID, error) {
	if len(text) == 36 {
		return ParseID(text)
	}
	op, err := c.tables(ctx)
	if err != nil {
		return ID{}, err
	}
	if text == "@last" {
		for f := (store.Filter{Roots: true, Limit: 1}); ; {
			tasks, next, err := op.Tasks(ctx, f)
			switch {
			case err != nil:
				return ID{}, c.public(ctx, err)
			case len(tasks) > 0:
				return tasks[0].ID, nil
			case next == ID{}:
				return ID{}, &IDError{Text: text, Problem: "there is no task yet"}
			}
			f.Before = next // a task with very many children
		}
	}
	s := strings.ToLower(text)
	if len(s) < suffixMin || len(s) > 36 || !suffix.MatchString(s) {
		return ID{}, &IDError{Text: text, Problem: fmt.Sprintf("want a full id, its last %d or more characters, or @last", suffixMin)}
	}
	ids, err := op.Matching(ctx, s, 5)
	if err != nil {
		return ID{}, c.public(ctx, err)
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		return ID{}, &IDError{Text: text, Problem: fmt.Sprintf("none of the newest %d tasks has an id that ends with that; give the whole id of an older one", store.MatchingRead)}
	default:
		return ID{}, &IDError{Text: text, Problem: "several ids end with that; give more of it", Matches: ids}
	}
}
