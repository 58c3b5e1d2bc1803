package intake

import "context"

// Prune removes at once what a consumer need not remember any more.
func Prune(ctx context.Context, c *Consumer) error {
	if err := c.prepare(ctx); err != nil {
		return err
	}
	return c.pruneOnce(ctx)
}

// TakeInRedriven lets a consumer that runs poll at once for messages that are to be taken in anew.
func TakeInRedriven(ctx context.Context, c *Consumer) error { return c.redriven(ctx) }
