package taskkit

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// itemPlace is where a list of items goes on. The zero value is its beginning. Which
// fields it has depends on where the items come from.
type itemPlace struct {
	position int64     // in the list or the set, from 1, of the last item
	row      uuid.UUID // of the last item, if it has one
	batch    int64     // of the ledger, from 1: that of the last item, plus 1
	index    int64     // the number of items of that batch so far
	children []ID      // the child that has the last item, below its parents, if the task itself has not
}

// placedItem is an item and where the list goes on after it.
type placedItem struct {
	Item
	after   itemPlace
	ofRange bool // its Position belongs to the set of the whole task, though a child has the item
}

// maxItemsPage is the greatest limit of [Client.ItemsPage].
const maxItemsPage = 10_000

// ItemsPage returns a page of the list of [Client.Items], of limit items at most. The
// cursor is "" for the first page, and for each further one what the page before
// returned as next, which is "" with the last page. A cursor belongs to a task and an outcome.
// An item that is recorded meanwhile may be missing in the pages. It returns an *[OptionError] for a cursor
// that is none and for a limit below 1 or above 10,000.
func (c *Client) ItemsPage(ctx context.Context, id ID, outcome Outcome, cursor string, limit int) (page []Item, next string, err error) {
	from, ok := parsePlace(cursor)
	if !ok {
		return nil, "", &OptionError{"cursor", fmt.Sprintf("%q is none: use what the page before returned, or \"\"", shorten(cursor))}
	}
	if limit < 1 || limit > maxItemsPage {
		return nil, "", &OptionError{"limit", fmt.Sprintf("%d is not between 1 and %d", limit, maxItemsPage)}
	}
	for i, err := range c.placedItems(ctx, id, outcome, from) {
		if err != nil {
			return nil, "", err
		}
		if len(page) == limit {
			return page, from.String(), nil
		}
		page, from = append(page, i.Item), i.after
	}
	return page, "", nil
}

// String writes a place as a cursor: numbers of 16 hexadecimal digits, around an id of 32, and before the ids of children.
func (p itemPlace) String() string {
	text := fmt.Appendf(nil, "%016x%x%016x%016x", p.position, p.row[:], p.batch, p.index)
	for _, id := range p.children {
		text = hex.AppendEncode(text, id[:])
	}
	return string(text)
}

// placeForm matches a cursor. No number is negative.
var placeForm = regexp.MustCompile(`^([0-7][0-9a-f]{15})([0-9a-f]{32})([0-7][0-9a-f]{15})([0-7][0-9a-f]{15})((?:[0-9a-f]{32})*)$`)

// parsePlace reads a cursor.
func parsePlace(cursor string) (p itemPlace, ok bool) {
	if cursor == "" {
		return p, true
	}
	parts := placeForm.FindStringSubmatch(cursor)
	if parts == nil {
		return p, false
	}
	var errs [4]error
	p.position, errs[0] = strconv.ParseInt(parts[1], 16, 64)
	p.row, errs[1] = uuid.Parse(parts[2])
	p.batch, errs[2] = strconv.ParseInt(parts[3], 16, 64)
	p.index, errs[3] = strconv.ParseInt(parts[4], 16, 64)
	for text := range slices.Chunk([]byte(parts[5]), 32) {
		id, err := uuid.ParseBytes(text)
		p.children, errs[1] = append(p.children, id), errors.Join(errs[1], err)
	}
	return p, errors.Join(errs[:]...) == nil
}
