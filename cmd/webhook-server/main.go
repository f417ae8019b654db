// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"kubi.zone/kubizone/pkg/kit/terminal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process
	command, stderr := newCommand(), terminal.NewWriter(os.Stderr)
	command.SetErr(stderr)
	if err := command.ExecuteContext(ctx); err != nil {
		terminal.PrintError(stderr, "webhook-server", err)
		os.Exit(2)
	}
}

func newCommand() *cobra.Command {
	options := newOptions()
	verbosity, logFormat := 0, "text"
	command := &cobra.Command{
		Use:   "webhook-server",
		Short: "serve Kubizone's webhook protocol in front of a DNS server",
		Long: `Serve the webhook protocol, by which a DNSClass with spec.webhook delivers zones, in front of a DNS server that takes
dynamic updates, in front of the zone files of one, or in front of a webhook provider of external-dns. It is the
reference for servers that write into something else. A line that begins with "ready" shows that it serves.`,
		Example: `  webhook-server --hmac-secret-file /run/secrets/hmac --rfc2136-server 192.0.2.53 --tsig-key-file update.key
  webhook-server --hmac-secret-file /run/secrets/hmac --zone-file example.org=/var/lib/bind/example.org.zone
  webhook-server --hmac-secret-file /run/secrets/hmac --external-dns-url http://127.0.0.1:8888`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return fmt.Errorf("the program takes flags alone, and %q is none; webhook-server --help lists them", arguments[0])
			}
			return nil
		},
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			logger, err := newLogger(command.ErrOrStderr(), verbosity, logFormat)
			if err != nil {
				return err
			}
			server, err := options.makeServer(logger)
			if err != nil {
				return err
			}
			return server.run(command.Context(), command.OutOrStdout())
		},
	}
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w; webhook-server --help lists the flags", err)
	})
	options.addFlags(command.Flags())
	command.Flags().IntVarP(&verbosity, "v", "v", 0, "how much is logged: 0 warnings and errors, 1 refused requests too, "+
		"4 questions for records that are not there too")
	command.Flags().StringVar(&logFormat, "logging-format", logFormat, "how the log is written: text or json")
	return command
}

func newLogger(to io.Writer, verbosity int, format string) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: slog.LevelWarn}
	if verbosity > 0 {
		options.Level = slog.Level(-verbosity)
	}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(to, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(to, options)), nil
	}
	return nil, fmt.Errorf("--logging-format %q: write text or json", format)
}

const (
	headerTime, readTime, answerTime = 10 * time.Second, 20 * time.Second, 2 * time.Minute
	endTime                          = 20 * time.Second
)

type webhookServer struct {
	listen          string
	tlsCert, tlsKey string
	handler         http.Handler
	target          string
	logger          *slog.Logger
}

func (s *webhookServer) run(ctx context.Context, out io.Writer) error {
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w; name an address of this machine and a free port", err)
	}
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: answerTime, IdleTimeout: answerTime,
		MaxHeaderBytes: 1 << 14,
		ErrorLog:       slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn), // also panics of the handler
	}
	ended := make(chan error, 1)
	scheme := "http"
	if s.tlsCert != "" {
		scheme = "https"
		go func() { ended <- server.ServeTLS(listener, s.tlsCert, s.tlsKey) }()
	} else {
		go func() { ended <- server.Serve(listener) }()
	}
	terminal.Fprintf(out, "ready: %s://%s (writes into %s)\n", scheme, listener.Addr(), s.target)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests were cut off after %s: %w", endTime, err), server.Close())
	}
	return nil
}
