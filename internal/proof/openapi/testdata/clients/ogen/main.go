// Command ogen runs the loop of the protocol with a client that ogen has made.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"example.org/clients/ogen/client"
)

// caller signs in.
type caller struct{ token string }

func (c caller) Caller(context.Context, client.OperationName) (client.Caller, error) {
	return client.Caller{Token: c.token}, nil
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, token string) error {
	c, err := client.NewClient(url, caller{token})
	if err != nil {
		return err
	}
	// Start, watch, items, result.
	j, err := start(ctx, c, client.FuzzSpecModeDone, "ogen-1")
	if err != nil {
		return err
	}
	if j, err = await(ctx, c, j); err != nil || j.Status != client.StatusSUCCEEDED {
		return fmt.Errorf("await: %+v, %v", j, err)
	}
	found, err := c.Items(ctx, client.ItemsParams{ID: j.ID})
	items, ok := found.(*client.ItemsPageHeaders)
	if err != nil || !ok || len(items.Response.Items) != 2 || items.Response.Items[0].Code.Value != "broken" || string(items.Response.Items[0].Item) != `"a"` {
		return fmt.Errorf("items: %+v, %v", found, err)
	}
	fetched, err := c.FetchFuzz(ctx, client.FetchFuzzParams{ID: j.ID})
	result, ok := fetched.(*client.FuzzResult)
	if err != nil || !ok || result.Items != 3 {
		return fmt.Errorf("result: %+v, %v", fetched, err)
	}
	again, err := c.RetryFailed(ctx, client.OptRetryFailedReq{}, client.RetryFailedParams{ID: j.ID})
	if _, ok := again.(*client.RetryFailedAccepted); err != nil || !ok {
		if _, ok := again.(*client.RetryFailedOK); err != nil || !ok {
			return fmt.Errorf("retry the failed items: %+v, %v", again, err)
		}
	}
	// Retry.
	if j, err = start(ctx, c, client.FuzzSpecModeFail, "ogen-2"); err != nil {
		return err
	}
	if j, err = await(ctx, c, j); err != nil || j.Status != client.StatusFAILED || j.Error.Value.Code != "target_gone" || j.Links["retry"].Method != "POST" {
		return fmt.Errorf("await: %+v, %v", j, err)
	}
	retry, err := c.Retry(ctx, client.NewOptRetryReq(client.RetryReq{Reason: client.NewOptString("the target is back")}), client.RetryParams{ID: j.ID})
	retried, ok := retry.(*client.RetryAccepted)
	if err != nil || !ok {
		return fmt.Errorf("retry: %+v, %v", retry, err)
	}
	if j, err = await(ctx, c, &retried.Response); err != nil || j.Status != client.StatusFAILED {
		return fmt.Errorf("await: %+v, %v", j, err)
	}
	// A refusal has its problem.
	none, err := c.FetchFuzz(ctx, client.FetchFuzzParams{ID: j.ID})
	if p, ok := none.(*client.FetchFuzzFailedDependency); err != nil || !ok || p.Response.Code.Value != "target_gone" {
		return fmt.Errorf("the result of a failed job: %+v, %v", none, err)
	}
	// Settings, delete.
	if j, err = start(ctx, c, client.FuzzSpecModeLater, "ogen-3"); err != nil {
		return err
	}
	changed, err := c.Change(ctx, &client.Settings{Priority: client.NewOptInt(3)}, client.ChangeParams{ID: j.ID})
	if _, ok := changed.(*client.WatchOKHeaders); err != nil || !ok {
		return fmt.Errorf("change: %+v, %v", changed, err)
	}
	deleted, err := c.Delete(ctx, client.DeleteParams{ID: j.ID})
	if j, ok := deleted.(*client.WatchOKHeaders); err != nil || !ok || j.Response.Status != client.StatusDELETED {
		return fmt.Errorf("delete: %+v, %v", deleted, err)
	}
	dropped, err := c.DropDead(ctx, &client.DeadSelection{Code: client.NewOptString("none")})
	if report, ok := dropped.(*client.DeadReport); err != nil || !ok || report.Done != 0 {
		return fmt.Errorf("drop: %+v, %v", dropped, err)
	}
	return nil
}

func start(ctx context.Context, c *client.Client, mode client.FuzzSpecMode, key string) (*client.Job, error) {
	spec := &client.FuzzSpec{Mode: mode, Items: []string{"a", "b", "c"}}
	r, err := c.StartFuzz(ctx, spec, client.StartFuzzParams{IdempotencyKey: client.NewOptString(key)})
	switch r := r.(type) {
	case *client.StartFuzzAccepted:
		return &r.Response, err
	case *client.StartFuzzOK:
		return &r.Response, err
	}
	return nil, fmt.Errorf("start: %+v, %v", r, err)
}

func await(ctx context.Context, c *client.Client, j *client.Job) (*client.Job, error) {
	for !j.Done {
		r, err := c.Watch(ctx, client.WatchParams{ID: j.ID, MaximumPollingPeriod: client.NewOptString("10s"), Since: client.NewOptString(j.Revision)})
		watched, ok := r.(*client.WatchOKHeaders)
		if err != nil || !ok {
			return nil, fmt.Errorf("watch: %+v, %v", r, err)
		}
		j = &watched.Response
	}
	return j, nil
}
