package gameserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
)

const (
	listContainers = "ListContainersNetworkInfo" // stands for the question in errors; it is no action on the wire
	discoveryPort  = 4092                        // of the discovery server of an instance
	discoveryPath  = "/v1/"
	maxDiscovery   = 1 << 20 // bytes of an answer
)

// ContainerNetworkInfo says where a container of this instance is.
type ContainerNetworkInfo struct {
	ContainerName      string `json:"containerName"`
	ContainerID        string `json:"containerId"`
	IPAddress          string `json:"ipAddress"`
	ContainerGroupType string `json:"containerGroupType"` // "GAME_SERVER" or "PER_INSTANCE"
}

// ListContainersNetworkInfo asks the discovery server of the instance where its containers are. It needs no connection
// to the service. On a compute that is no container it fails with ErrNoContainer.
//
// The discovery server is the one that GAMELIFT_CONTAINER_DISCOVERY_SERVER_ENDPOINT names; without it, or when it does
// not answer, port 4092 of the container's gateway, which is found by ECS_CONTAINER_METADATA_URI_V4.
// Source: server SDK 5, Go edition, ContainerNetworkInfoFetcher.
func (s *Server) ListContainersNetworkInfo(ctx context.Context) ([]ContainerNetworkInfo, error) {
	if s.cfg.Getenv("GAMELIFT_COMPUTE_TYPE") != "CONTAINER" {
		return nil, failed(listContainers, ErrNoContainer)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: requestLimit}
	var containers []ContainerNetworkInfo
	err := errors.New("GAMELIFT_CONTAINER_DISCOVERY_SERVER_ENDPOINT is not set")
	if endpoint := s.cfg.Getenv("GAMELIFT_CONTAINER_DISCOVERY_SERVER_ENDPOINT"); endpoint != "" {
		err = getJSON(ctx, client, endpoint+discoveryPath, &containers)
	}
	if err == nil {
		return containers, nil
	}
	gateway, missing := containerGateway(ctx, client, s.cfg.Getenv("ECS_CONTAINER_METADATA_URI_V4"))
	if missing != nil {
		return nil, failed(listContainers, fmt.Errorf("no discovery server: %w; %w", err, missing))
	}
	if err := getJSON(ctx, client, gateway+discoveryPath, &containers); err != nil {
		return nil, failed(listContainers, fmt.Errorf("discovery server: %w", err))
	}
	return containers, nil
}

// containerGateway is the address of the discovery server on the container's network: the first address of the
// container's, with 1 as its last number.
func containerGateway(ctx context.Context, client *http.Client, metadataURI string) (string, error) {
	if metadataURI == "" {
		return "", errors.New("ECS_CONTAINER_METADATA_URI_V4 is not set")
	}
	var metadata struct {
		Networks []struct{ IPv4Addresses []string }
	}
	if err := getJSON(ctx, client, metadataURI, &metadata); err != nil {
		return "", fmt.Errorf("container metadata: %w", err)
	}
	if len(metadata.Networks) == 0 || len(metadata.Networks[0].IPv4Addresses) == 0 {
		return "", errors.New("container metadata: no address in it")
	}
	own, err := netip.ParseAddr(metadata.Networks[0].IPv4Addresses[0])
	if err != nil || !own.Is4() {
		return "", errors.New("container metadata: no IPv4 address in it")
	}
	gateway := own.As4()
	gateway[3] = 1
	return fmt.Sprintf("http://%s", netip.AddrPortFrom(netip.AddrFrom4(gateway), discoveryPort)), nil
}

func getJSON(ctx context.Context, client *http.Client, url string, to any) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, response.Body.Close()) }()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("%s answers %s", request.URL.Host, response.Status)
	}
	return json.NewDecoder(io.LimitReader(response.Body, maxDiscovery)).Decode(to)
}
