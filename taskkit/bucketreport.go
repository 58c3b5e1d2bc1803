package taskkit

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"time"

	"taskkit.dev/internal/csvcell"
	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/segment"
)

// bucketColumns are the columns of [Client.WriteBuckets].
var bucketColumns = []string{"bucket", "task", "segment", "status", "partial", "total", "done", "failed", "skipped", "started", "ended", "seconds", "skew", "code"}

// WriteBuckets writes a report of the buckets of a task as CSV, with a header and a line for each
// bucket that was submitted, in the order of [Client.Children], and for each that was skipped, see [BucketChecker]. Such a line has
// the status SKIPPED, the code, and no task. Seconds are from the first start to
// the end, and for an open bucket empty. Skew is that divided by the mean of all buckets that have
// ended: 2.00 took twice as long as the mean. Times are in UTC (RFC 3339). It returns [ErrNotFound]
// when there is no such task, and an *[OptionError] for one without buckets.
func (c *Client) WriteBuckets(ctx context.Context, id ID, to io.Writer) error {
	op, err := c.tables(ctx)
	if err != nil {
		return err
	}
	switch buckets, _, err := isSplit(ctx, op, id); {
	case err != nil:
		return c.public(ctx, err)
	case !buckets:
		return &OptionError{"WriteBuckets", fmt.Sprintf("task %s has no buckets: its children are listed by Client.Children", id)}
	}
	var (
		sum float64
		n   int
	)
	for child, err := range c.allChildren(ctx, id) {
		if err != nil {
			return err
		}
		if s, ok := child.seconds(); ok {
			sum, n = sum+s, n+1
		}
	}
	w := csv.NewWriter(to)
	if err := w.Write(bucketColumns); err != nil {
		return fmt.Errorf("taskkit: write the report of buckets: %w", err)
	}
	skipped := &rowCursor{read: op, id: id, outcome: store.ItemSkipped}
	for child, err := range c.allChildren(ctx, id) {
		if err == nil {
			err = c.writeSkipped(ctx, w, skipped, int64(child.Bucket))
		}
		if err != nil {
			return err
		}
		if err := w.Write(child.line(sum, n)); err != nil {
			return fmt.Errorf("taskkit: write the report of buckets: %w", err)
		}
	}
	if err := c.writeSkipped(ctx, w, skipped, math.MaxInt64); err != nil {
		return err
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("taskkit: write the report of buckets: %w", err)
	}
	return nil
}

// writeSkipped writes the lines of the buckets before a number that were skipped.
func (c *Client) writeSkipped(ctx context.Context, w *csv.Writer, rows *rowCursor, before int64) error {
	for {
		i, err := rows.peek(ctx)
		if err != nil {
			return c.public(ctx, err)
		}
		if i == nil || i.Position >= before {
			return nil
		}
		rows.skip()
		var part segment.Segment
		text := itemkey.Text(i.Key)
		if json.Unmarshal([]byte(i.Key), &part) == nil { // else the key is a part of it
			text = part.String()
		}
		line := make([]string, len(bucketColumns))
		line[0], line[2], line[3], line[len(line)-1] = strconv.FormatInt(i.Position, 10), csvcell.Write(text), "SKIPPED", csvcell.Write(i.Code)
		if err := w.Write(line); err != nil {
			return fmt.Errorf("taskkit: write the report of buckets: %w", err)
		}
	}
}

// allChildren reads the children of a task, page by page.
func (c *Client) allChildren(ctx context.Context, id ID) iter.Seq2[*Child, error] {
	return func(yield func(*Child, error) bool) {
		for after := (ID{}); ; {
			page, err := c.Children(ctx, id, after, 1000)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, child := range page {
				if !yield(child, nil) {
					return
				}
				after = child.ID
			}
			if len(page) < 1000 {
				return
			}
		}
	}
}

// seconds returns how long the child took, if it has begun and ended.
func (c *Child) seconds() (float64, bool) {
	if c.Started == nil || c.Ended == nil {
		return 0, false
	}
	return max(c.Ended.Sub(*c.Started), 0).Seconds(), true
}

// line is the line of a bucket, given the sum of the seconds of n buckets.
func (c *Child) line(sum float64, n int) []string {
	number := func(n int64) string {
		if n < 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	seconds, skew := "", ""
	if s, ok := c.seconds(); ok {
		seconds = strconv.FormatFloat(s, 'f', 3, 64)
		if sum > 0 {
			skew = strconv.FormatFloat(s*float64(n)/sum, 'f', 2, 64)
		}
	}
	p := c.Progress
	return []string{
		strconv.Itoa(c.Bucket), c.ID.String(), csvcell.Write(c.Segment.String()), string(c.Status), strconv.FormatBool(c.Partial),
		number(p.Total), number(p.Done), number(p.Failed), number(p.Skipped), at(c.Started), at(c.Ended), seconds, skew, "",
	}
}
