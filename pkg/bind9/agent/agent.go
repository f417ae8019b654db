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
	"kubi.zone/kubizone/pkg/transfer"
)

// Controller runs commands of named's control channel. *rndc.Client is one.
type Controller interface {
	Call(ctx context.Context, command string) (string, error)
}

var _ Controller = (*rndc.Client)(nil)

// Config of an agent. Fields that may be empty say so.
type Config struct {
	Control Controller
	// Nameserver is where named answers DNS, "127.0.0.1:53".
	Nameserver string
	// TSIGKey returns the key that signs what is sent to Nameserver. It is called for each message.
	TSIGKey func() (transfer.Key, error)
	// ZoneDir is a directory that named and the agent have at the same path and may write.
	ZoneDir string
	// ConfigDir has the files of named's configuration; empty: they are not watched.
	ConfigDir string
	// CatalogsFile has the names of the catalog zones that named follows, one a line; empty: there are none.
	CatalogsFile string
	// Authenticate refuses a request of a client without rights.
	Authenticate func(*http.Request) error
	// Version is what /health answers.
	Version string
	Logger  *slog.Logger
	Now     func() time.Time
}

const (
	// maxRate and maxBurst bound the requests of one address, a second.
	maxRate, maxBurst = 50, 200
	// maxBody is that of bindcar, in octets.
	maxBody = 2 << 20
	// maxRequests are under way at once: named works on one command after the other.
	maxRequests = 16
	// slotTime is how long a request waits for its turn; requestTime is how long it may take then.
	slotTime, requestTime = 5 * time.Second, time.Minute
)

// Agent is the handler.
type Agent struct {
	config  Config
	files   zoneFiles
	mux     *http.ServeMux
	slots   chan struct{}
	waiting time.Duration // slotTime
	// openLimiter counts requests to open paths apart: clients that share an address with a prober do not use up its
	// share by requests with a token.
	limiter, openLimiter *limiter
	ready                readiness
	loaded               loadedConfig
	// zones are held while a request about a zone is under way, so that two do not decide on the same state.
	zones [64]sync.Mutex
}

// work is one request: its body is read, its zone is a name.
type work struct {
	request *http.Request
	zone    name.Name
	body    []byte
}

// decode reads the JSON of a body. Fields that are not known are ignored, as bindcar ignores them (P1).
func (w *work) decode(into any) error {
	if err := json.Unmarshal(w.body, into); err != nil {
		return refuse(http.StatusBadRequest, "body: not the JSON of this request: %v; docs/bind-agent.md names its fields", err)
	}
	return nil
}

// lockZone waits for other requests about the zone.
func (a *Agent) lockZone(zone name.Name) (unlock func()) {
	sum := fnv.New32a()
	_, _ = io.WriteString(sum, zone.String())
	lock := &a.zones[sum.Sum32()%uint32(len(a.zones))]
	lock.Lock()
	return lock.Unlock
}

// runCommand runs a command of the control channel. Where named did not answer, the client is to try again (A2).
func (a *Agent) runCommand(ctx context.Context, command string) (string, error) {
	if len(command) > rndc.MaxCommand {
		return "", refuse(http.StatusBadRequest, "the configuration is a command of %d octets, and named reads %d; "+
			"give fewer addresses and keys", len(command), rndc.MaxCommand)
	}
	text, err := a.config.Control.Call(ctx, command)
	var failure *rndc.Failure
	if err != nil && !errors.As(err, &failure) {
		return "", unavailable(err, "named does not answer on its control channel")
	}
	return text, err
}
