package command

import (
	"context"
	"fmt"
	"strings"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
)

// How much of the tree of a task is shown.
const (
	showChildren = 20  // of each task
	showTree     = 200 // in all
	showBuckets  = 20  // open or failed
)

// childNode is a child in the output of show, with those below it.
type childNode struct {
	childJSON
	// Children are the first; More is how many there are besides them.
	Children []childNode `json:"children,omitempty"`
	More     int64       `json:"more,omitempty"`
}

// tree reads the first children of a task, and recursively their children, until room children
// have been read. It returns how many children of the task are left out.
func (c *Connection) tree(ctx context.Context, t *taskkit.Task, room *int) (nodes []childNode, more int64, err error) {
	counts := t.Children
	if counts == nil {
		return nil, 0, nil
	}
	more = counts.Open + counts.Completed + counts.Stopped + counts.Failed
	if *room == 0 {
		return nil, more, nil
	}
	children, err := c.Children(ctx, t.ID, taskkit.ID{}, min(showChildren, *room))
	if err != nil {
		return nil, 0, err
	}
	*room -= len(children)
	for _, child := range children {
		n := childNode{childJSON: operatorsChild(child)}
		below, err := c.Task(ctx, child.ID)
		if err != nil {
			return nil, 0, err
		}
		child.Progress = below.Progress // including its own children
		if n.Children, n.More, err = c.tree(ctx, below, room); err != nil {
			return nil, 0, err
		}
		nodes = append(nodes, n)
	}
	return nodes, max(0, more-int64(len(nodes))), nil
}

// troubled returns the first buckets of a task that are open or have failed.
func (c *Connection) troubled(ctx context.Context, t *taskkit.Task) (buckets []childJSON, err error) {
	if t.Children == nil || t.Children.Open+t.Children.Failed == 0 {
		return nil, nil
	}
	const page = 1000
	var after taskkit.ID
	for {
		children, err := c.Children(ctx, t.ID, after, page)
		if err != nil {
			return nil, err
		}
		for _, child := range children {
			after = child.ID
			if child.Bucket == 0 {
				return nil, nil // a task with buckets has no other children
			}
			if child.Status == taskkit.StatusCompleted {
				continue
			}
			if buckets = append(buckets, operatorsChild(child)); len(buckets) == showBuckets {
				return buckets, nil
			}
		}
		if len(children) < page {
			return buckets, nil
		}
	}
}

// childName is the name of a stage, the number of a bucket, or the kind of another child.
func childName(c *taskkit.Child) string {
	switch {
	case c.Stage != "":
		return c.Stage
	case c.Bucket > 0:
		return "bucket " + screen.Count(int64(c.Bucket))
	case c.First > 0:
		return "items " + screen.Count(c.First) + " to " + screen.Count(c.Last)
	default:
		return c.Kind
	}
}

// status is the status of a task in a list: EXECUTING also while its children are executed.
func status(t *taskkit.Task) string {
	if t.Running() && t.Status == taskkit.StatusQueued {
		return string(taskkit.StatusExecuting)
	}
	return string(t.Status)
}

// childStatus is the status of a child.
func childStatus(c *taskkit.Child) string {
	if c.Partial {
		return string(c.Status) + ", stopped"
	}
	return string(c.Status)
}

// childItems says how many items a child has processed.
func childItems(p taskkit.Progress) string {
	text := screen.Count(p.Processed())
	if p.Total >= 0 {
		text += " of " + screen.Count(p.Total)
	}
	if p.Failed > 0 {
		text += ", " + screen.Count(p.Failed) + " failed"
	}
	return text
}

// showChildrenOf writes the tree of a task and its open and failed buckets.
func (a *App) showChildrenOf(s shown) {
	counts := s.Task.Children
	if counts == nil {
		return
	}
	fmt.Fprintf(a.out, "\n%s\n", a.out.Bold(fmt.Sprintf("Children: %s open, %s completed, %s stopped, %s failed",
		screen.Count(counts.Open), screen.Count(counts.Completed), screen.Count(counts.Stopped), screen.Count(counts.Failed))))
	a.out.Table([]string{"child", "kind", "status", "items", "task"}, treeRows(nil, s.Children, s.MoreChildren, 0))
	if len(s.Buckets) == 0 {
		return
	}
	rows := make([][]string, len(s.Buckets))
	for i, c := range s.Buckets {
		rows[i] = []string{screen.Count(int64(c.Bucket)), childStatus(c.Child), childItems(c.Progress), screen.Short(c.Segment.String(), 100), screen.Short(c.StatusDetail, 80)}
	}
	a.section("Open and failed buckets", len(rows), showBuckets)
	a.out.Table([]string{"bucket", "status", "items", "segment", "detail"}, rows, 1)
}

// treeRows appends the rows of children, indented by their depth.
func treeRows(rows [][]string, nodes []childNode, more int64, depth int) [][]string {
	margin := strings.Repeat("  ", depth)
	for _, n := range nodes {
		rows = append(rows, []string{margin + childName(n.Child), n.Kind, childStatus(n.Child), childItems(n.Progress), n.ID.String()})
		rows = treeRows(rows, n.Children, n.More, depth+1)
	}
	if more > 0 {
		rows = append(rows, []string{fmt.Sprintf("%sand %s more", margin, screen.Count(more)), "", "", "", ""})
	}
	return rows
}
