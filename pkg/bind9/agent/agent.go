// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/bind9/agent/rndc"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/transfer"
)

// Controller runs commands of named's control channel. *rndc.Client is one.
type Controller interface {
	Call(ctx context.Context, command string) (string, error)
}

var _ Controller = (*rndc.Client)(nil)

// Config of an agent.
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
	// retryTime is what Retry-After says where nothing better is known.
	retryTime = 2 * time.Second
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

// New makes an agent.
func New(config Config) (*Agent, error) {
	if config.Control == nil || config.TSIGKey == nil || config.Authenticate == nil || config.Nameserver == "" || config.ZoneDir == "" ||
		config.Now == nil || config.Logger == nil {
		return nil, errors.New("an agent needs a control channel, a name server, a key, a directory of zones, a way to authenticate, " +
			"a log and a clock")
	}
	a := &Agent{
		config: config, files: zoneFiles{dir: config.ZoneDir}, mux: http.NewServeMux(),
		slots: make(chan struct{}, maxRequests), waiting: slotTime, limiter: newLimiter(maxRate, maxBurst),
		openLimiter: newLimiter(maxRate, maxBurst),
	}
	for _, route := range routes {
		a.mux.HandleFunc(route.method+" "+route.path, func(w http.ResponseWriter, r *http.Request) { a.serveRoute(w, r, route) })
	}
	return a, nil
}

// ServeHTTP answers a request. Of a path that is no route the mux says so.
func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// problem is an answer that is not what was asked for.
type problem struct {
	status  int
	message string
	retry   time.Duration // 0: no Retry-After
	cause   error         // for the log alone
}

func (p *problem) Error() string { return p.message }

// refuse makes an answer with that status.
func refuse(status int, format string, arguments ...any) *problem {
	return &problem{status: status, message: fmt.Sprintf(format, arguments...)}
}

// unavailable is the answer where something did not answer the agent: the client tries again.
func unavailable(cause error, message string) *problem {
	return &problem{status: http.StatusServiceUnavailable, message: message + "; the log of the agent says why", retry: retryTime,
		cause: cause}
}

// busy is the answer to a request beyond a bound (A6).
func busy(retry time.Duration, format string, arguments ...any) *problem {
	p := refuse(http.StatusTooManyRequests, format, arguments...)
	p.retry = max(retry, time.Second)
	return p
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

// serveRoute bounds, authenticates and carries out one request, in this order.
func (a *Agent) serveRoute(w http.ResponseWriter, r *http.Request, route route) {
	status, answer, err := a.carryOut(w, r, route)
	if err != nil {
		status, answer = a.describeProblem(w, err)
	}
	sendJSON(w, status, answer)
	level := slog.LevelDebug
	switch {
	case status >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case route.method != http.MethodGet:
		level = slog.LevelInfo
	}
	if told := (*problem)(nil); errors.As(err, &told) && told.cause != nil {
		err = told.cause
	}
	a.config.Logger.Log(r.Context(), level, "request", "method", r.Method, "path", r.URL.EscapedPath(), "client", r.RemoteAddr,
		"status", status, "err", err)
}

func (a *Agent) carryOut(w http.ResponseWriter, r *http.Request, route route) (status int, answer any, err error) {
	limiter := a.limiter
	if route.open {
		limiter = a.openLimiter
	}
	if wait := limiter.reserveRequest(r.RemoteAddr, a.config.Now()); wait > 0 {
		return 0, nil, busy(wait, "more requests than %d a second from this address; wait as Retry-After says", limiter.rate)
	}
	if route.open {
		return route.serve(a, &work{request: r})
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTime)
	defer cancel()
	if err := a.config.Authenticate(r); err != nil {
		return 0, nil, err
	}
	job := &work{request: r.WithContext(ctx)}
	if text := r.PathValue("name"); text != "" {
		if job.zone, err = parseZoneName("zone name in the path", text); err != nil {
			return 0, nil, err
		}
	}
	if job.body, err = readBody(w, r); err != nil {
		return 0, nil, err
	}
	wait := time.NewTimer(a.waiting)
	defer wait.Stop()
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-wait.C:
		return 0, nil, busy(retryTime, "%d requests are under way; wait as Retry-After says", maxRequests)
	case <-ctx.Done():
		return 0, nil, busy(retryTime, "the request waited until its time was over")
	}
	return route.serve(a, job)
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, refuse(http.StatusRequestEntityTooLarge, "body: longer than %d octets; write further records by dynamic update",
			maxBody)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "body: it was cut off")
	}
	return body, nil
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

// describeProblem is the answer to a request that failed.
func (a *Agent) describeProblem(w http.ResponseWriter, err error) (int, any) {
	var told *problem
	var failure *rndc.Failure
	switch {
	case errors.As(err, &told):
	case errors.As(err, &failure):
		told = refuse(http.StatusInternalServerError, "%v", failure)
	default:
		told = refuse(http.StatusInternalServerError, "the agent could not do it; its log says why")
	}
	if told.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((told.retry+time.Second-1)/time.Second)))
	}
	if told.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	return told.status, protocol.Error{Error: told.message}
}

func sendJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // values of the protocol marshal
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
