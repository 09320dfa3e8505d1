package bench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"time"
)

// longestEvent is the maximum size of an event in bytes.
const longestEvent = 1 << 20

// follow reads the event feed from its beginning and calls visit with each line, valid until visit returns. It ends
// with ctx or the connection.
func (c *conn) follow(ctx context.Context, visit func(line []byte)) error {
	if err := c.connect(ctx); err != nil {
		return err
	}
	defer c.close()
	if _, err := c.raw.Write(c.signer.appendGet(nil, time.Now(), "/v1/events", "follow=true")); err != nil {
		return err
	}
	a, err := c.readHead()
	switch {
	case err != nil:
		return err
	case a.status != http.StatusOK:
		return fmt.Errorf("the event feed answers with status %d", a.status)
	case !a.chunked:
		return errMalformed
	}
	lines := bufio.NewReaderSize(httputil.NewChunkedReader(c.in), longestEvent)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		visit(line)
	}
}
