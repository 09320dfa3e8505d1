//go:build unix

package fault

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// get reads a page of a node.
func (c *cluster) get(ctx context.Context, n *node, path string) (text string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.address+path, nil)
	if err != nil {
		return "", err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s of node %s: %s", path, n.name, response.Status)
	}
	return string(body), err
}
