// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bindagent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"kubi.zone/kubizone/pkg/bind9/agent"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

const (
	headerTime, readTime, answerTime = 10 * time.Second, 20 * time.Second, 2 * time.Minute
	endTime                          = 20 * time.Second
	configPause                      = 2 * time.Second
	sweepPause                       = 10 * time.Minute
	memberPause                      = 20 * time.Second
)

type server struct {
	address        string
	identity       *identity // nil means http
	agent          *agent.Agent
	controlChannel string
	logger         *slog.Logger
}

// run serves until ctx ends, and then finishes current requests within endTime. Meanwhile the watches follow named's
// configuration and the members of catalogs, and delete old DNSSEC keys of removed zones.
func (s *server) run(ctx context.Context, out io.Writer) error {
	open, err := net.Listen("tcp", s.address)
	if err != nil {
		return fmt.Errorf("--listen: %w; name an address of this machine and a free port", err)
	}
	listener := newListener(open)
	web := &http.Server{
		Handler: s.agent, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: answerTime, IdleTimeout: answerTime,
		MaxHeaderBytes: 1 << 14, ConnContext: withConnection,
		ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug), // failed handshakes, and panics
	}

	// The watches stop before run returns, after the last request.
	watching, stop := context.WithCancel(ctx)
	var watches sync.WaitGroup
	for _, one := range []struct {
		watch func(context.Context, <-chan time.Time)
		pause time.Duration
	}{{s.agent.WatchConfig, configPause}, {s.agent.SweepKeys, sweepPause}, {s.agent.WatchMembers, memberPause}} {
		watches.Go(func() {
			looks := time.NewTicker(one.pause)
			defer looks.Stop()
			one.watch(watching, looks.C)
		})
	}
	defer func() { stop(); watches.Wait() }()
	ended := make(chan error, 1)
	scheme := "http"
	if s.identity != nil {
		scheme = "https"
		// A resumed session would keep an earlier certificate.
		web.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true, GetCertificate: s.identity.loadFiles}
		go func() { ended <- web.ServeTLS(listener, "", "") }()
	} else {
		go func() { ended <- web.Serve(listener) }()
	}
	_, _ = terminal.Fprintf(out, "ready: %s://%s before the named with the control channel %s\n", scheme, listener.Addr(), s.controlChannel)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if err := web.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests were cut off after %s: %w", endTime, err), web.Close())
	}
	return nil
}

type identity struct {
	certFile, keyFile string
	logger            *slog.Logger

	lastCertificate atomic.Pointer[tls.Certificate]
}

// loadFiles reads the certificate for each handshake, so that a renewed certificate needs no restart. While the files
// cannot be read, the last certificate stays (B3).
func (i *identity) loadFiles(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	certificate, err := tls.LoadX509KeyPair(i.certFile, i.keyFile)
	if err == nil {
		i.lastCertificate.Store(&certificate)
		return &certificate, nil
	}
	if last := i.lastCertificate.Load(); last != nil {
		i.logger.Warn("the certificate cannot be read; the last one stays in force", "err", err)
		return last, nil
	}
	return nil, err
}
