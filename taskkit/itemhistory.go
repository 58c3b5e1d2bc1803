package taskkit

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/store"
)

// ItemBounds bound the records of [Client.ItemHistory].
type ItemBounds struct {
	Records int           // Defaults to 5; at most 1,000.
	PerTask int           // Of a task and its children. Defaults to 3.
	Age     time.Duration // Only records that are at most so old. Defaults to 0, which is any age.
}

const (
	defaultRecords, maxRecords = 5, 1000
	defaultPerTask             = 3
	// historyPage is how many records are read at once, and historyRead bounds what is read of all kinds and tasks.
	historyPage, historyRead = 100, 10_000
)

// ItemHistory returns what became of an item in the tasks of a kind, or ("") of all kinds, the newest first: where it failed, was skipped
// or is deferred. Success is recorded with the task, see [Client.Items], and is not among these. The item is given as it was
// passed to [Batch.Fail], or as the Key of an [Item]. Item.Task is the task that has the record, also if that is no child.
//
// It reads the newest 10,000 records of the item, whose tasks are kept, see docs/operations.md. Bounds that are negative, or too large, are
// an *[OptionError].
func (c *Client) ItemHistory(ctx context.Context, kind string, item any, b ItemBounds) ([]Item, error) {
	switch {
	case b.Records < 0 || b.Records > maxRecords:
		return nil, &OptionError{"ItemBounds.Records", fmt.Sprintf("%d is not between 1 and %d", b.Records, maxRecords)}
	case b.PerTask < 0:
		return nil, &OptionError{"ItemBounds.PerTask", "negative"}
	case b.Age < 0:
		return nil, &OptionError{"ItemBounds.Age", "negative"}
	}
	if b.Records == 0 {
		b.Records = defaultRecords
	}
	if b.PerTask == 0 {
		b.PerTask = defaultPerTask
	}
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	var (
		found  []Item
		counts = map[ID]int{} // by the task above all others
		tasks  = map[ID]*store.Task{}
		before store.ItemRecord
		key    = itemkey.Encode(item)
	)
	for read := 0; read < historyRead; read += historyPage {
		page, err := op.ItemRecords(ctx, key, b.Age, before, historyPage)
		if err == nil {
			err = readTasks(ctx, op, page, tasks)
		}
		if err != nil {
			return nil, c.public(ctx, err)
		}
		for i := range page {
			before = page[i]
			of := tasks[before.Task]
			if of == nil || kind != "" && of.Kind != kind {
				continue
			}
			top := topOf(tasks, before.Task)
			if counts[top]++; counts[top] > b.PerTask {
				continue
			}
			one := itemOf(&before.Item)
			one.Task = before.Task
			if found = append(found, one); len(found) == b.Records {
				return found, nil
			}
		}
		if len(page) < historyPage {
			break
		}
	}
	return found, nil
}

// readTasks reads the tasks of records and the tasks above them, without those that were read before. One that was removed is nil.
func readTasks(ctx context.Context, op store.Client, records []store.ItemRecord, tasks map[ID]*store.Task) error {
	var ids []ID
	want := func(id ID) {
		if _, has := tasks[id]; !has && id != uuid.Nil {
			tasks[id] = nil
			ids = append(ids, id)
		}
	}
	for i := range records {
		want(records[i].Task)
	}
	for len(ids) > 0 {
		page, _, err := op.Tasks(ctx, store.Filter{IDs: ids, Limit: len(ids)})
		if err != nil {
			return err
		}
		ids = nil
		for i := range page {
			tasks[page[i].ID] = &page[i]
			want(page[i].Parent)
		}
	}
	return nil
}

// topOf returns the task above all others of a task, as far as they were read.
func topOf(tasks map[ID]*store.Task, id ID) ID {
	for {
		t := tasks[id]
		if t == nil || t.Parent == uuid.Nil {
			return id
		}
		id = t.Parent
	}
}
