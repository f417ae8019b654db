// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bindagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kubi.zone/kubizone/pkg/bind9/agent"
	"kubi.zone/kubizone/pkg/bind9/agent/rndc"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/kit/terminal"
	"kubi.zone/kubizone/pkg/kit/version"
)

type options struct {
	listen                  string
	tlsCert, tlsKey         string
	tokenFile               string
	rndcServer, rndcKeyFile string
	dnsServer, tsigKeyFile  string
	zoneDir, configDir      string
	catalogsFile            string
	supervise               string
}

func newOptions() *options {
	return &options{listen: "127.0.0.1:8080", rndcServer: "127.0.0.1:953", dnsServer: "127.0.0.1:53", zoneDir: "/var/cache/bind"}
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.listen, "listen", o.listen, "address and port to listen on")
	flags.StringVar(&o.tlsCert, "tls-cert-file", o.tlsCert, "certificate to serve https with; without one it is http, on loopback alone")
	flags.StringVar(&o.tlsKey, "tls-private-key-file", o.tlsKey, "its key")
	flags.StringVar(&o.tokenFile, "token-file", o.tokenFile, "file of bearer tokens, one a line, of 16 characters at least; several "+
		"while clients change to a new one")
	flags.StringVar(&o.rndcServer, "rndc-server", o.rndcServer, "ADDRESS:PORT of named's control channel")
	flags.StringVar(&o.rndcKeyFile, "rndc-key-file", o.rndcKeyFile, "file of the control channel's key, as rndc-confgen or tsig-keygen "+
		"writes it; of several keys the first that named accepts is used")
	flags.StringVar(&o.dnsServer, "dns-server", o.dnsServer, "ADDRESS:PORT where named answers DNS")
	flags.StringVar(&o.tsigKeyFile, "tsig-key-file", o.tsigKeyFile, "file of the TSIG key that signs questions to named, as for catalogs; "+
		"without one it is the control channel's")
	flags.StringVar(&o.zoneDir, "zone-dir", o.zoneDir, "directory for files of zones, which named has at the same path; "+
		"both may write there")
	flags.StringVar(&o.configDir, "config-dir", o.configDir, "directory of named's configuration: after a change of a file there named "+
		"reads it again; empty for none")
	flags.StringVar(&o.catalogsFile, "catalogs-file", o.catalogsFile, "file with the names of the catalog zones that named follows, "+
		"one a line: after a start, /ready waits for their members")
	flags.StringVar(&o.supervise, "supervise", o.supervise, "address and port for a readiness probe by TCP, open while named answers DNS: "+
		"the agent then runs as a child process, which is started again when it ends or hangs; empty for none")
}

func NewCommand() *cobra.Command {
	o := newOptions()
	command := &cobra.Command{
		Use:   "bind-agent",
		Short: "serve an HTTP API beside one BIND, by which zones are added to it, changed and removed",
		Long: `Serve an HTTP API beside one named, by which its zones are added, changed and removed while it runs. It is the API of
bindcar 0.9. named needs "allow-new-zones yes;" and a controls block. A line that begins with "ready" shows that it serves.`,
		Example: `  kubizone bind-agent --rndc-key-file /etc/bind/rndc.key --token-file /run/secrets/agent/tokens
  kubizone bind-agent --rndc-key-file /etc/bind/rndc.key --token-file /run/secrets/agent/tokens --listen :8443 \
    --tls-cert-file tls.crt --tls-private-key-file tls.key`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			logger := newLogger(command)
			if o.supervise != "" {
				s, err := o.newSupervisor(command.OutOrStdout(), command.ErrOrStderr(), logger)
				if err != nil {
					return err
				}
				return s.run(command.Context())
			}
			s, err := o.makeServer(logger)
			if err != nil {
				return err
			}
			return s.run(command.Context(), command.OutOrStdout())
		},
	}
	o.addFlags(command.Flags())
	return command
}

// Main runs the command as a program of its own, and returns the exit code: 0, or 2 after an error.
func Main(arguments []string, out, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal has its default effect
	command := NewCommand()
	command.SilenceUsage, command.SilenceErrors = true, true
	// As the flags of package program, which the small binary leaves out.
	command.Version = version.Number()
	command.Flags().IntP("v", "v", 0, "how much is logged: 0 warnings and errors, 1 changes, 4 each request")
	command.Flags().String("logging-format", "text", "how the log is written: text or json")
	command.SetArgs(arguments)
	out, stderr = terminal.NewWriter(out), terminal.NewWriter(stderr)
	command.SetOut(out)
	command.SetErr(stderr)
	if err := command.ExecuteContext(ctx); err != nil {
		terminal.PrintError(stderr, "bind-agent", err)
		return 2
	}
	return 0
}

// newLogger returns the logger for the flags -v and --logging-format: warnings, changes from 1, requests from 4.
func newLogger(command *cobra.Command) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelWarn}
	switch verbosity, _ := strconv.Atoi(readFlag(command, "v")); {
	case verbosity >= 4:
		options.Level = slog.LevelDebug
	case verbosity > 0:
		options.Level = slog.LevelInfo
	}
	if readFlag(command, "logging-format") == "json" {
		return slog.New(slog.NewJSONHandler(command.ErrOrStderr(), options))
	}
	return slog.New(slog.NewTextHandler(command.ErrOrStderr(), options))
}

// readFlag returns the value of a flag, or "" if the program around the command has no such flag.
func readFlag(command *cobra.Command, name string) string {
	if flag := command.Flag(name); flag != nil {
		return flag.Value.String()
	}
	return ""
}

// makeServer returns the server, or all errors of the flags together (B1). Key and token files are read once here for
// their faults, and again for each use.
func (o *options) makeServer(logger *slog.Logger) (*server, error) {
	var wrong []error
	fault := func(flag, format string, arguments ...any) {
		wrong = append(wrong, fmt.Errorf(flag+": "+format, arguments...))
	}

	// 1. Addresses and certificate. Without TLS, a host on the way could read tokens.
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		fault("--listen", "%q must be [ADDRESS]:PORT", o.listen)
	}
	if (o.tlsCert == "") != (o.tlsKey == "") {
		fault("--tls-cert-file and --tls-private-key-file", "give both or none")
	}
	if o.tlsCert == "" && err == nil && !isLoopback(host) {
		fault("--listen", "%q is not a loopback address, and tokens could be read on the way; give --tls-cert-file",
			o.listen)
	}
	for flag, address := range map[string]string{"--rndc-server": o.rndcServer, "--dns-server": o.dnsServer} {
		if at, err := netip.ParseAddrPort(address); err != nil || at.Port() == 0 {
			fault(flag, "%q must be ADDRESS:PORT", address)
		}
	}

	// 2. Directories. named reads the path of zoneDir in quotes, in its configuration.
	if info, err := os.Stat(o.zoneDir); err != nil || !info.IsDir() || !filepath.IsAbs(o.zoneDir) {
		fault("--zone-dir", "%q must be the absolute path of a directory", o.zoneDir)
	}
	// A quote would end the path in named's configuration.
	if strings.ContainsFunc(o.zoneDir, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		fault("--zone-dir", "%q must have printable ASCII alone, and no quotes or backslashes: it stands in named's configuration",
			o.zoneDir)
	}
	if info, err := os.Stat(o.configDir); o.configDir != "" && (err != nil || !info.IsDir()) {
		fault("--config-dir", "%q must be a directory", o.configDir)
	}
	if info, err := os.Stat(o.catalogsFile); o.catalogsFile != "" && (err != nil || !info.Mode().IsRegular()) {
		fault("--catalogs-file", "%q must be a file", o.catalogsFile)
	}

	// 3. Keys and tokens.
	keys := map[string]string{"--rndc-key-file": o.rndcKeyFile}
	if o.tsigKeyFile != "" {
		keys["--tsig-key-file"] = o.tsigKeyFile
	}
	for flag, path := range keys {
		if path == "" {
			fault(flag, "named takes signed commands alone; name the file of the key in its controls block")
			continue
		}
		_, warnings, err := tsig.ReadKeyFile(path)
		if err != nil {
			fault(flag, "%w", err)
		}
		for _, warning := range warnings {
			logger.Warn(warning)
		}
	}
	tokens := agent.TokenFile(o.tokenFile)
	if o.tokenFile == "" {
		fault("--token-file", "is required: clients show one of its tokens, and without it no request is answered")
	} else if _, err := tokens.Read(); err != nil {
		fault("--token-file", "%w", err)
	}

	// 4. The server. The certificate is read once for its faults.
	s := &server{address: o.listen, logger: logger, controlChannel: o.rndcServer}
	if o.tlsCert != "" && o.tlsKey != "" {
		s.identity = &identity{certFile: o.tlsCert, keyFile: o.tlsKey, logger: logger}
		if _, err := s.identity.loadFiles(nil); err != nil {
			fault("--tls-cert-file, --tls-private-key-file", "%w", err)
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	s.agent = agent.New(agent.Config{
		Control:    &rndc.Client{Address: o.rndcServer, Keys: o.readControlKeys},
		Nameserver: o.dnsServer, TSIGKey: o.readTSIGKey, ZoneDir: filepath.Clean(o.zoneDir), ConfigDir: o.configDir,
		CatalogsFile: o.catalogsFile, Authenticate: promoting(tokens.Authenticate),
		Version: version.Number(), Logger: logger, Now: time.Now,
	})
	return s, nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback() || host == "localhost"
}

func (o *options) readControlKeys() (all []rndc.Key, err error) {
	keys, _, err := tsig.ReadKeyFile(o.rndcKeyFile)
	for _, key := range keys {
		all = append(all, rndc.Key{Algorithm: strings.TrimSuffix(string(key.Algorithm), "."), MAC: key.MAC})
	}
	return all, err
}

func (o *options) readTSIGKey() (transfer.Key, error) {
	keys, _, err := tsig.ReadKeyFile(cmp.Or(o.tsigKeyFile, o.rndcKeyFile))
	if err != nil {
		return transfer.Key{}, err
	}
	return transfer.Key{Name: keys[0].Name, Algorithm: string(keys[0].Algorithm), MAC: keys[0].MAC}, nil
}
