// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	etcd "go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc"
)

// DefaultQuotaBytes exceeds etcd's default of 2 GiB, because every write of a Record also writes its Zone.
const DefaultQuotaBytes = 8 << 30

// maxSocketPath is below the limit of a socket's path (sun_path), which is 104 octets on the BSDs and 108 on Linux.
const maxSocketPath = 100

const (
	socketFile = "etcd.sock"
	window     = 4 << 20
)

type Config struct {
	// Dir is the data directory. Close Dir after Stop.
	Dir *Dir
	// QuotaBytes is the size of the store above which etcd rejects writes; 0 means DefaultQuotaBytes.
	QuotaBytes int64
	// Log receives each line of etcd's log; nil drops them.
	Log func(line string)
	// Verbose logs more than errors.
	Verbose bool
	// Cluster is nil for a sole member.
	Cluster *Cluster
}

func (c *Config) memberName() string {
	if c.Cluster == nil {
		return ""
	}
	return c.Cluster.MemberName
}

// Member is an etcd server that runs within this process. Clients connect to its unix socket (Endpoints).
type Member struct {
	dir      string
	server   *etcd.Etcd
	endpoint string
	// ephemeral is a temporary directory for the socket, if the path of the data directory is too long; else "".
	ephemeral string
	failure   *failure
	stop      sync.Once
	// stopping is true during Stop, when etcd's errors about closed listeners are not logged.
	stopping atomic.Bool
}

// Start starts the member and returns when etcd accepts writes. In a cluster, this needs a majority of the members. The
// error is the cause of ctx's end, or a *LostMemberError, or names a flag or the directory, and the remedy.
func Start(ctx context.Context, cfg Config) (_ *Member, err error) {
	dir := filepath.Join(cfg.Dir.Path(), etcdDir)
	if err := cfg.Dir.checkMember(cfg.memberName()); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unwritable(cfg.Dir.Path(), err)
	}
	// An existing directory may have another mode, and would then admit other users.
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, unwritable(cfg.Dir.Path(), err)
	}

	m := &Member{dir: cfg.Dir.Path(), failure: newFailure(cfg.Dir.Path())}
	socket, err := m.choosePath(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			m.removeEphemeral()
		}
	}()

	m.endpoint = "unix://" + socket
	config := m.etcdConfig(cfg, dir)
	if cfg.Cluster != nil {
		err = cfg.Cluster.joinCluster(config, cfg.Dir, m.newLogger(cfg))
	}
	if err == nil && !hasLog(dir) { // the first start stores the name, and later starts check it
		err = cfg.Dir.SetMember(cfg.memberName())
	}
	if err != nil {
		return nil, err
	}

	// etcd is ready when the cluster has a leader and this member has published its address.
	if err := m.startServer(config); err != nil {
		return nil, err
	}
	select {
	case <-m.server.Server.ReadyNotify():
		m.failure.ready.Store(true)
		go m.relayFailure()
		return m, nil
	case <-m.failure.done:
		return nil, m.failure.err
	case <-ctx.Done():
		// The caller no longer waits for a majority of members.
		m.Stop()
		return nil, context.Cause(ctx)
	}
}

// startServer starts etcd in a goroutine. When etcd logs a Fatal or Panic line, the logger's hook (failure.OnWrite)
// ends this goroutine instead of the process.
func (m *Member) startServer(config *etcd.Config) error {
	result := make(chan error, 1)
	var server *etcd.Etcd
	go func() {
		var err error
		server, err = etcd.StartEtcd(config)
		result <- err
	}()
	select {
	case err := <-result:
		if err != nil {
			return m.failure.explainFailure(err)
		}
		m.server = server
		return nil
	case <-m.failure.done:
		return m.failure.err
	}
}

func (m *Member) Endpoints() []string { return []string{m.endpoint} }

// Failed returns a channel that is closed if etcd stops by itself.
func (m *Member) Failed() <-chan struct{} { return m.failure.done }

func (m *Member) Err() error {
	select {
	case <-m.failure.done:
		return m.failure.err
	default:
		return nil
	}
}

// Stop answers the requests in flight and closes etcd. If etcd has failed or is not ready, Stop waits at most two
// seconds.
func (m *Member) Stop() {
	m.stop.Do(func() {
		m.stopping.Store(true)
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			m.server.Close()
		}()
		// Close of a failed etcd may never return. For a healthy etcd, timeout is nil, so wait without a limit.
		var timeout <-chan time.Time
		if m.Err() != nil || !m.failure.ready.Load() {
			timeout = time.After(2 * time.Second)
		}
		select {
		case <-closed:
		case <-timeout:
		}
		m.removeEphemeral()
	})
}

func (m *Member) removeEphemeral() {
	if m.ephemeral != "" {
		os.RemoveAll(m.ephemeral)
	}
}

func (m *Member) relayFailure() {
	if err, open := <-m.server.Err(); open && err != nil {
		m.failure.setError(m.failure.explainFailure(err))
	}
}

// RunningEndpoint returns the endpoint of the etcd that another process runs in a data directory. It returns false if
// the directory has no socket.
func RunningEndpoint(dataDir string) (endpoint string, ok bool) {
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return "", false
	}
	socket := filepath.Join(dataDir, etcdDir, socketFile)
	if info, err := os.Stat(socket); err != nil || info.Mode()&os.ModeSocket == 0 {
		return "", false
	}
	return "unix://" + socket, true
}

// Reach returns the endpoints of the etcd in a data directory. If no process runs etcd there, Reach starts a sole
// member, which runs until the caller calls release.
func Reach(ctx context.Context, dataDir string, log func(line string)) (endpoints []string, release func(), err error) {
	dir, err := OpenDir(dataDir, 0)
	var inUse *InUseError
	if errors.As(err, &inUse) {
		if endpoint, running := RunningEndpoint(dataDir); running {
			return []string{endpoint}, func() {}, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	member, err := Start(ctx, Config{Dir: dir, Log: log})
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	return member.Endpoints(), func() { member.Stop(); dir.Close() }, nil
}

// choosePath returns the path of the socket in the directory dir, or in a temporary directory if the path would be too
// long.
func (m *Member) choosePath(dir string) (string, error) {
	if path := filepath.Join(dir, socketFile); len(path) <= maxSocketPath {
		return path, nil
	}
	short, err := os.MkdirTemp("", "kubizone-")
	if err != nil {
		return "", fmt.Errorf("data-dir %s: its path is too long for a unix socket, and no shorter place was found: %w; "+
			"name a shorter directory", m.dir, err)
	}
	m.ephemeral = short
	return filepath.Join(short, socketFile), nil
}

// snapshotEvery is the number of log entries between snapshots. A start reads all entries since the last snapshot into
// memory, where etcd's default of 10,000 entries could take 3 GB at 0.3 MiB each.
const snapshotEvery = 1000

// etcdConfig returns the configuration of a sole member. joinCluster changes the fields of a cluster.
func (m *Member) etcdConfig(cfg Config, dir string) *etcd.Config {
	c := etcd.NewConfig()
	c.Name = soleMember
	c.Dir = dir
	client := url.URL{Scheme: "unix", Path: m.endpoint[len("unix://"):]}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	// A sole member advertises a peer address without a listener.
	c.ListenPeerUrls = nil
	c.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: strings.TrimPrefix(solePeer, "http://")}}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.QuotaBackendBytes = cmp.Or(cfg.QuotaBytes, DefaultQuotaBytes)
	c.SnapshotCount, c.SnapshotCatchUpEntries = snapshotEvery, 1 // there is no other member to catch up
	c.MaxTxnOps = 512                                            // for large batches (facts.wideOps)
	// A broken watch resumes at the revision of the last progress notification, which must be newer than the last
	// compaction.
	c.WatchProgressNotifyInterval = time.Minute
	// Clients use gRPC alone, through the socket.
	c.EnableGRPCGateway = false
	c.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(window)}
	// A sole member elects itself. The default timeouts would only delay the start.
	c.TickMs, c.ElectionMs = 20, 200
	// With the default, etcd would warn whenever a laptop sleeps or a disk stalls.
	c.WarningApplyDuration = 5 * time.Second
	c.WarningUnaryRequestDuration = 5 * time.Second
	c.ZapLoggerBuilder = etcd.NewZapLoggerBuilder(m.newLogger(cfg))
	return c
}

// noEntryYet is part of an error that etcd logs every four seconds until the first entry of its log.
const noEntryYet = "cannot detect storage schema version: missing term information"

// newLogger returns the logger of etcd, which writes to cfg.Log. A Fatal or Panic line ends only the calling goroutine.
func (m *Member) newLogger(cfg Config) *zap.Logger {
	level := zapcore.ErrorLevel
	if cfg.Verbose {
		level = zapcore.InfoLevel
	}
	format := zap.NewProductionEncoderConfig()
	format.TimeKey = ""
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(format), zapcore.AddSync(lines(func(line string) {
		if cfg.Log != nil && !m.stopping.Load() && (cfg.Verbose || !strings.Contains(line, noEntryYet)) {
			cfg.Log(line)
		}
	})), level)
	return zap.New(core, zap.WithFatalHook(m.failure), zap.WithPanicHook(m.failure))
}

type lines func(string)

func (l lines) Write(p []byte) (int, error) {
	l(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

type failure struct {
	dir   string
	ready atomic.Bool // etcd has accepted writes
	once  sync.Once
	done  chan struct{} // closed when err is set
	err   error
}

var _ zapcore.CheckWriteHook = (*failure)(nil)

func newFailure(dir string) *failure { return &failure{dir: dir, done: make(chan struct{})} }

func (f *failure) setError(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.done)
	})
}

// OnWrite records the error of a Fatal or Panic log line. zap calls OnWrite after the line. Callers of Fatal expect no
// return, so OnWrite ends the goroutine.
func (f *failure) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	err := errors.New(entry.Message)
	// The last error among the fields is the cause.
	for _, field := range fields {
		if cause, ok := field.Interface.(error); ok && field.Type == zapcore.ErrorType {
			err = fmt.Errorf("%s: %w", entry.Message, cause)
		}
	}
	f.setError(f.explainFailure(err))
	runtime.Goexit()
}

func (f *failure) explainFailure(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return unwritable(f.dir, err)
	case !f.ready.Load():
		return fmt.Errorf("data-dir %s: etcd does not start: %w; where a file is damaged starting again does not help: "+
			"keep a copy of the directory, put back one from before, or name another directory", f.dir, err)
	}
	return fmt.Errorf("data-dir %s: etcd stopped: %w; start again: acknowledged writes are kept", f.dir, err)
}
