package control

import "context"

// A Call identifies an API call and its caller.
type Call struct {
	Principal  string // the access key
	Invocation string // amz-sdk-invocation-id: the same for all retries of a call; may be ""
	URL        string // scheme and host that the call was sent to, such as http://localhost:9080; may be ""

	// Created is called with the ARN of what the call has created, if that has an id of its own; nil: nothing is done.
	Created func(arn string)
}

type callKey struct{}

// WithCall returns a context with the call that it belongs to.
func WithCall(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// created notes the ARN of what the call of ctx has created, for the audit trail.
func created(ctx context.Context, arn string) {
	if c := callOf(ctx); c.Created != nil {
		c.Created(arn)
	}
}

func callOf(ctx context.Context) Call {
	c, _ := ctx.Value(callKey{}).(Call)
	return c
}
