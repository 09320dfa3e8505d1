package direct

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/session"
)

// TestPollPace checks when a state is looked at: soon, then ever less often.
func TestPollPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, last := New(Config{}).(*provider), time.Now()
		var waits []time.Duration
		err := p.poll(t.Context(), "Host", func() (bool, error) {
			waits = append(waits, time.Since(last))
			last = time.Now()
			return len(waits) == 9, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range waits {
			want := min(250*math.Pow(1.5, float64(i)), 2000)
			if ms := float64(got) / 1e6; ms < want*0.79 || ms > want*1.21 {
				t.Errorf("wait %d was %v, want about %v ms", i, got, want)
			}
		}
	})
}

// throttling is an exception with which the service asks for fewer calls.
type throttling struct{ apiError }

func (throttling) ErrorCode() string { return "ThrottlingException" }

// TestPollThrottled has a service that wants to be asked less: it is, and is not
// given up. Any other error is final.
func TestPollThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := New(Config{}).(*provider), time.Now()
		final := errors.New("gone")
		answers := []error{throttling{}, throttling{}, final}
		err := p.poll(t.Context(), "Host", func() (bool, error) {
			err := answers[0]
			answers = answers[1:]
			return false, err
		})
		if took := time.Since(start).Seconds(); err != final || took < 0.8*4.25 || took > 1.2*4.25 {
			t.Errorf("%v after %v s, want about 4.25 s", err, took)
		}
	})
}

// TestPollEnds checks that the end of a context ends the waiting at once.
func TestPollEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		err := New(Config{}).(*provider).poll(ctx, "Host", func() (bool, error) { return false, nil })
		if took := time.Since(start); !errors.Is(err, session.ErrTimeout) || took != time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// TestOutlast checks how long a request may go on whose caller has given up.
func TestOutlast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		longer, release := New(Config{}).(*provider).outlast(ctx)
		defer release()
		cancel()
		start := time.Now()
		<-longer.Done()
		if took := time.Since(start); took != grace {
			t.Errorf("lasted %v longer, want %v", took, grace)
		}
	})
}

func TestAttributes(t *testing.T) {
	for _, bad := range []string{``, `23`, `null`, `{}`, `{"N":null}`, `{"N":"23"}`, `{"n":23}`, `{"N":1,` +
		`"S":"a"}`, `{"SL":"a"}`, `{"SDM":{"a":"b"}}`, `{"N":23}{}`} {
		if v, err := parseAttribute([]byte(bad)); err == nil {
			t.Errorf("%s is %+v", bad, v)
		}
	}
	_, err := matchPlayers("StartMatchmaking", []session.Player{{PlayerID: "ada",
		LatencyInMS: map[string]int{"r": -1}}})
	if !errors.Is(err, session.ErrInvalid) {
		t.Errorf("a negative latency: %v", err)
	}
}

// TestInputThatIsNotSent has the SDK reject an input.
func TestInputThatIsNotSent(t *testing.T) {
	client := gamelift.New(gamelift.Options{Region: "us-west-2", Credentials: aws.AnonymousCredentials{}})
	_, err := client.StartMatchmaking(t.Context(), &gamelift.StartMatchmakingInput{})
	if err = failure(t.Context(), "StartMatchmaking", err); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// FuzzAttribute checks that what is accepted has exactly one value, and that
// nothing panics.
func FuzzAttribute(f *testing.F) {
	for _, seed := range []string{
		`{"N": 23}`, `{"S":"a"}`, `{"SL":["a"]}`, `{"SDM":{"a":1}}`, `{"SL":[null]}`, `{"N":1e999}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parseAttribute(data)
		if err != nil {
			return
		}
		given := 0
		for _, there := range []bool{v.S != nil, v.N != nil, v.SL != nil, v.SDM != nil} {
			if there {
				given++
			}
		}
		if given != 1 || !json.Valid(data) {
			t.Errorf("%q became %+v", data, v)
		}
	})
}
