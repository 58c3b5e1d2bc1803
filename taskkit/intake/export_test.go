package intake

import "context"

// Prune removes at once what a consumer need not remember any more.
func Prune(ctx context.Context, c *Consumer) error {
	if err := c.prepare(ctx); err != nil {
		return err
	}
	return c.pruneOnce(ctx)
}
