// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/bind9/agent/rndc"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/transfer"
)

type Controller interface {
	Call(ctx context.Context, command string) (string, error)
}

var _ Controller = (*rndc.Client)(nil)

// Config configures an Agent, the HTTP server beside named, BIND's process. Only ConfigDir, CatalogsFile and Version
// may be empty.
type Config struct {
	// Control sends commands to named, such as "addzone".
	Control Controller
	// Nameserver is named's address for DNS queries: "127.0.0.1:53".
	Nameserver string
	// TSIGKey returns the key that signs DNS queries.
	TSIGKey func() (transfer.Key, error)
	// ZoneDir is the directory of zone files. The agent writes there, and named must see it under the same path.
	ZoneDir string
	// ConfigDir is the directory of named's configuration, for WatchConfig; "" means none.
	ConfigDir string
	// CatalogsFile has a line for each of named's catalog zones, such as "catalog.example."; "" means none.
	CatalogsFile string
	Authenticate func(*http.Request) error
	Version      string
	Logger       *slog.Logger
	Now          func() time.Time
}

const (
	maxRate, maxBurst = 50, 200
	maxBody           = 2 << 20
	// named runs one command at a time.
	maxRequests           = 16
	slotTime, requestTime = 5 * time.Second, time.Minute
)

type Agent struct {
	config  Config
	files   zoneFiles
	mux     *http.ServeMux
	slots   chan struct{}
	waiting time.Duration
	// openLimiter is for routes without authentication, so that clients with a token do not use up the probes' rate.
	limiter, openLimiter *limiter
	ready                readiness
	loaded               loadedConfig
	zones                [64]sync.Mutex
}

type work struct {
	request *http.Request
	zone    name.Name
	body    []byte
}

func (w *work) decode(into any) error {
	if err := json.Unmarshal(w.body, into); err != nil {
		return refuse(http.StatusBadRequest, "body: not the JSON of this request: %v; docs/bind-agent.md names its fields", err)
	}
	return nil
}

// lockZone serializes the changes of a zone, and returns its unlock function. Two zones may share a mutex, and then
// wait for each other.
func (a *Agent) lockZone(zone name.Name) (unlock func()) {
	sum := fnv.New32a()
	_, _ = io.WriteString(sum, zone.String())
	lock := &a.zones[sum.Sum32()%uint32(len(a.zones))]
	lock.Lock()
	return lock.Unlock
}

// runCommand sends a command to named and returns named's text. A refusal is an *rndc.Failure. Without an answer the
// error is a 503, and named may have run the command all the same.
func (a *Agent) runCommand(ctx context.Context, command string) (string, error) {
	if len(command) > rndc.MaxCommand {
		return "", refuse(http.StatusBadRequest, "the configuration is a command of %d octets, and named reads %d; "+
			"give fewer addresses and keys", len(command), rndc.MaxCommand)
	}
	text, err := a.config.Control.Call(ctx, command)
	var failure *rndc.Failure
	// Only a refusal proves an unchanged named. The client repeats any other request, which changes nothing twice (A1).
	if err != nil && !errors.As(err, &failure) {
		return "", unavailable(err, "named does not answer on its control channel")
	}
	return text, err
}
