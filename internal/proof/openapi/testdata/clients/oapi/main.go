// Command oapi runs the loop of the protocol with a client that oapi-codegen has made.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"example.org/clients/oapi/client"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, token string) error {
	c, err := client.NewClientWithResponses(url, client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}))
	if err != nil {
		return err
	}
	// Start, watch, items, result.
	j, err := start(ctx, c, "done", "oapi-1")
	if err != nil {
		return err
	}
	if j, err = await(ctx, c, j); err != nil || j.Status != client.SUCCEEDED {
		return fmt.Errorf("await: %v, %v", j, err)
	}
	failed := client.ItemsParamsOutcome("failed")
	items, err := c.ItemsWithResponse(ctx, j.Id, &client.ItemsParams{Outcome: &failed})
	if err != nil || items.JSON200 == nil || len(items.JSON200.Items) != 2 || *items.JSON200.Items[0].Code != "broken" || items.JSON200.Items[0].Item != "a" {
		return fmt.Errorf("items: %s, %v", items.Body, err)
	}
	result, err := c.FetchFuzzWithResponse(ctx, j.Id)
	if err != nil || result.JSON200 == nil || result.JSON200.Items != 3 {
		return fmt.Errorf("result: %s, %v", result.Body, err)
	}
	again, err := c.RetryFailedWithResponse(ctx, j.Id, nil, client.RetryFailedJSONRequestBody{})
	if err != nil || again.StatusCode() >= 300 {
		return fmt.Errorf("retry the failed items: %s, %v", again.Body, err)
	}
	// Retry.
	if j, err = start(ctx, c, "fail", "oapi-2"); err != nil {
		return err
	}
	if j, err = await(ctx, c, j); err != nil || j.Status != client.FAILED || j.Error.Code != "target_gone" || j.Links["retry"].Method != "POST" {
		return fmt.Errorf("await: %+v, %v", j, err)
	}
	reason := "the target is back"
	retried, err := c.RetryWithResponse(ctx, j.Id, nil, client.RetryJSONRequestBody{Reason: &reason})
	if err != nil || retried.JSON202 == nil {
		return fmt.Errorf("retry: %s, %v", retried.Body, err)
	}
	if j, err = await(ctx, c, retried.JSON202); err != nil || j.Status != client.FAILED {
		return fmt.Errorf("await: %+v, %v", j, err)
	}
	// A refusal has its problem.
	none, err := c.FetchFuzzWithResponse(ctx, j.Id)
	if err != nil || none.ApplicationproblemJSON424 == nil || *none.ApplicationproblemJSON424.Code != "target_gone" {
		return fmt.Errorf("the result of a failed job: %s, %v", none.Body, err)
	}
	// Settings, delete.
	if j, err = start(ctx, c, "later", "oapi-3"); err != nil {
		return err
	}
	priority := 3
	changed, err := c.ChangeWithResponse(ctx, j.Id, nil, client.Settings{Priority: &priority})
	if err != nil || changed.JSON200 == nil {
		return fmt.Errorf("change: %s, %v", changed.Body, err)
	}
	deleted, err := c.DeleteWithResponse(ctx, j.Id, nil)
	if err != nil || deleted.JSON200 == nil || deleted.JSON200.Status != client.DELETED {
		return fmt.Errorf("delete: %s, %v", deleted.Body, err)
	}
	code := "none"
	dropped, err := c.DropDeadWithResponse(ctx, client.DeadSelection{Code: &code})
	if err != nil || dropped.JSON200 == nil || dropped.JSON200.Done != 0 {
		return fmt.Errorf("drop: %s, %v", dropped.Body, err)
	}
	return nil
}

func start(ctx context.Context, c *client.ClientWithResponses, mode, key string) (*client.Job, error) {
	r, err := c.StartFuzzWithResponse(ctx, &client.StartFuzzParams{IdempotencyKey: &key}, client.FuzzSpec{Mode: client.FuzzSpecMode(mode), Items: &[]string{"a", "b", "c"}})
	switch {
	case err != nil:
		return nil, err
	case r.JSON202 != nil:
		return r.JSON202, nil
	case r.JSON200 != nil:
		return r.JSON200, nil
	}
	return nil, fmt.Errorf("start: %d %s", r.StatusCode(), r.Body)
}

func await(ctx context.Context, c *client.ClientWithResponses, j *client.Job) (*client.Job, error) {
	wait := "10s"
	for !j.Done {
		r, err := c.WatchWithResponse(ctx, j.Id, &client.WatchParams{MaximumPollingPeriod: &wait, Since: &j.Revision})
		if err != nil || r.JSON200 == nil {
			return nil, fmt.Errorf("watch: %s, %v", r.Body, err)
		}
		j = r.JSON200
	}
	return j, nil
}
