package console

import (
	"strconv"
	"strings"
)

// coordinatesTag is the tag of a custom location with its latitude and longitude in degrees: "50.1,8.7".
const coordinatesTag = "muster:lat,lon"

// A position is a latitude and a longitude in degrees.
type position struct{ lat, lon float64 }

// regionPositions are where the Regions of AWS are, to a degree or so.
var regionPositions = map[string]position{
	"af-south-1": {-33.9, 18.4}, "ap-east-1": {22.3, 114.2}, "ap-northeast-1": {35.7, 139.7},
	"ap-northeast-2": {37.6, 127.0}, "ap-northeast-3": {34.7, 135.5}, "ap-south-1": {19.1, 72.9},
	"ap-south-2": {17.4, 78.5}, "ap-southeast-1": {1.4, 103.8}, "ap-southeast-2": {-33.9, 151.2},
	"ap-southeast-3": {-6.2, 106.8}, "ap-southeast-4": {-37.8, 145.0}, "ap-southeast-5": {3.1, 101.7},
	"ap-southeast-7": {13.8, 100.5}, "ca-central-1": {45.5, -73.6}, "ca-west-1": {51.0, -114.1},
	"cn-north-1": {39.9, 116.4}, "cn-northwest-1": {37.5, 105.2}, "eu-central-1": {50.1, 8.7},
	"eu-central-2": {47.4, 8.5}, "eu-north-1": {59.3, 18.1}, "eu-south-1": {45.5, 9.2}, "eu-south-2": {41.6, -0.9},
	"eu-west-1": {53.3, -6.3}, "eu-west-2": {51.5, -0.1}, "eu-west-3": {48.9, 2.4}, "il-central-1": {32.1, 34.8},
	"me-central-1": {24.5, 54.4}, "me-south-1": {26.1, 50.6}, "mx-central-1": {20.6, -100.4},
	"sa-east-1": {-23.6, -46.6}, "us-east-1": {38.9, -77.4}, "us-east-2": {40.0, -83.0},
	"us-west-1": {37.4, -122.0}, "us-west-2": {45.8, -119.7},
}

// parsePosition reads the value of the tag; nil: it has no valid one.
func parsePosition(text string) *position {
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",;/ ", r) })
	if len(parts) != 2 {
		return nil
	}
	lat, err := strconv.ParseFloat(parts[0], 64)
	if err != nil || !(lat >= -90 && lat <= 90) {
		return nil
	}
	lon, err := strconv.ParseFloat(parts[1], 64)
	if err != nil || !(lon >= -180 && lon <= 180) {
		return nil
	}
	return &position{lat, lon}
}
