package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/muster-gg/muster/e2e/clients"
)

// childVariable makes this test's binary a program that uses the SDK for Go: it makes the call that the variable names,
// with what the environment configures.
const childVariable = "MUSTER_SIGNIN_CALL"

// A childAnswer is what the program writes.
type childAnswer struct {
	Result      json.RawMessage
	Error, Text string
	Lookups     int // of names
}

// sdkProgram makes one call. No name is resolved: attempts are counted.
func sdkProgram() {
	var a childAnswer
	var lookups atomic.Int32
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		lookups.Add(1)
		return nil, errors.New("names are not resolved here")
	}}
	result, err := childCall(context.Background(), os.Getenv(childVariable))
	if err != nil {
		a.Error, a.Text = "unknown", err.Error()
		if refusal, ok := errors.AsType[smithy.APIError](err); ok {
			a.Error = refusal.ErrorCode()
		}
	}
	a.Lookups = int(lookups.Load())
	if a.Result, err = json.Marshal(result); err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		panic(err)
	}
}

func childCall(ctx context.Context, operation string) (any, error) {
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	switch operation {
	case "ListFleets":
		return gamelift.NewFromConfig(c).ListFleets(ctx, &gamelift.ListFleetsInput{})
	case "sts.GetCallerIdentity":
		return sts.NewFromConfig(c).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	case "lookup":
		_, err := net.DefaultResolver.LookupHost(ctx, "sts.amazonaws.com")
		return nil, err
	}
	return nil, fmt.Errorf("there is no call %q", operation)
}

// A goClient is that program with a profile.
type goClient struct {
	h       *home
	profile string
}

// run runs the program.
func (g goClient) run(operation string) (a childAnswer, err error) {
	c := exec.CommandContext(g.h.w.Context(), os.Args[0])
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "AWS_") {
			c.Env = append(c.Env, e)
		}
	}
	c.Env = append(append(c.Env, g.h.environ(g.profile)...), "AWS_EC2_METADATA_DISABLED=true",
		childVariable+"="+operation)
	out, err := c.Output()
	if err != nil {
		return a, fmt.Errorf("%s: %w: %s", operation, err, out)
	}
	return a, json.Unmarshal(out, &a)
}

// Call implements clients.Caller. A lookup of a name is an error.
func (g goClient) Call(operation string, _, result any) error {
	a, err := g.run(operation)
	switch {
	case err != nil:
		return err
	case a.Lookups > 0:
		return fmt.Errorf("%s looks up %d names: %s", operation, a.Lookups, a.Text)
	case a.Error != "":
		return &clients.APIError{Code: a.Error, Message: a.Text}
	}
	return json.Unmarshal(a.Result, result)
}
