// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/transfer"
	server "kubi.zone/kubizone/pkg/webhookserver"
	"kubi.zone/kubizone/pkg/webhookserver/masterfile"
	"kubi.zone/kubizone/pkg/webhookserver/rfc2136"
)

const (
	// A request has to be here in readTime, its headers in headerTime, and the answer gone in answerTime.
	headerTime, readTime, answerTime = 10 * time.Second, 20 * time.Second, 2 * time.Minute
	// patience is how long requests under way are waited for at the end.
	patience = 20 * time.Second
	// maxSecret bounds a secret's file, in octets.
	maxSecret = 1 << 16
)

// Options are the flags.
type Options struct {
	Listen            string
	TLSCert, TLSKey   string
	BasePath          string
	SecretFiles       []string
	Algorithm         string
	UpdateServer      string
	TSIGKeyFile       string
	ZoneFiles         []string
	SharedNotes       string
	Check, ReloadWith []string
}

// NewOptions has the defaults. The check is as strict as named is when it loads a primary's zone, and asks nobody for
// the addresses of hosts outside.
func NewOptions() *Options {
	return &Options{Listen: ":7100", Algorithm: string(protocol.SHA256), Check: []string{"named-checkzone", "-i", "local", "-k", "fail"}, ReloadWith: []string{"rndc", "reload"}}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Listen, "listen", o.Listen, "address and port to listen on")
	flags.StringVar(&o.TLSCert, "tls-cert-file", o.TLSCert, "certificate to serve https with; without one it is http, where requests are signed and can be read")
	flags.StringVar(&o.TLSKey, "tls-private-key-file", o.TLSKey, "its key")
	flags.StringVar(&o.BasePath, "base-path", o.BasePath, "path before those of the protocol, as in the URL that clients have: /dns")
	flags.StringSliceVar(&o.SecretFiles, "hmac-secret-file", o.SecretFiles, "file that is the shared secret, octet by octet; several while one takes the other's place")
	flags.StringVar(&o.Algorithm, "hmac-algorithm", o.Algorithm, "SHA256 or SHA512, as clients have it")
	flags.StringVar(&o.UpdateServer, "rfc2136-server", o.UpdateServer, "HOST[:PORT] of the DNS server to write into by dynamic update")
	flags.StringVar(&o.TSIGKeyFile, "tsig-key-file", o.TSIGKeyFile, "file of the TSIG key that signs updates, as tsig-keygen writes it")
	flags.StringSliceVar(&o.ZoneFiles, "zone-file", o.ZoneFiles, "ZONE=FILE to write into, instead of --rfc2136-server; repeated for more")
	flags.StringVar(&o.SharedNotes, "shared-notes-file", o.SharedNotes, "for zones that others write too: file in which the server notes what it wrote; what others wrote is kept, and 409 where a zone wants it otherwise. Without it what is posted replaces what is there")
	flags.StringSliceVar(&o.Check, "zone-check", o.Check, "program, and its first arguments, that is given a zone and a new file and says whether it loads; empty for none")
	flags.StringSliceVar(&o.ReloadWith, "zone-reload", o.ReloadWith, "program, and its first arguments, that is given a zone and has the name server load it; empty for none")
}

// NewCommand is the sub-command.
func NewCommand() *cobra.Command {
	options := NewOptions()
	command := &cobra.Command{
		Use:   "webhook-server",
		Short: "serve the webhook protocol in front of a DNS server",
		Long: `Serve the webhook protocol, by which a DNSClass with spec.webhook delivers zones, before a DNS server that takes dynamic
updates, or before the zone files of one. It is the reference for servers that stand before something else. A line that
begins with "ready" says when it serves.`,
		Example: `  kubizone webhook-server --hmac-secret-file /run/secrets/hmac --rfc2136-server 192.0.2.53 --tsig-key-file update.key
  kubizone webhook-server --hmac-secret-file /run/secrets/hmac --zone-file example.org=/var/lib/bind/example.org.zone`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := options.Complete()
			if err != nil {
				return err
			}
			return config.Run(command.Context(), command.OutOrStdout())
		},
	}
	options.AddFlags(command.Flags())
	return command
}

// Config is what the options mean.
type Config struct {
	listen            string
	tlsCert, tlsKey   string
	handler           http.Handler
	secrets           func() ([][]byte, error)
	servedBy          string
	warnings          []string
	requestsAreSigned protocol.Algorithm
}

// Complete reports all that is wrong with the options (W1).
func (o *Options) Complete() (*Config, error) {
	config := &Config{listen: o.Listen, tlsCert: o.TLSCert, tlsKey: o.TLSKey, requestsAreSigned: protocol.Algorithm(o.Algorithm)}
	var wrong []error
	fault := func(err error) { wrong = append(wrong, err) }
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		fault(fmt.Errorf("--listen %q: must be [ADDRESS]:PORT", o.Listen))
	}
	if (o.TLSCert == "") != (o.TLSKey == "") {
		fault(errors.New("--tls-cert-file and --tls-private-key-file: give both or none"))
	}
	if len(o.SecretFiles) == 0 {
		fault(errors.New("--hmac-secret-file: name at least one; nobody is let in without a secret"))
	}
	config.secrets = func() ([][]byte, error) { return readSecrets(o.SecretFiles) }
	if secrets, err := config.secrets(); err != nil {
		fault(fmt.Errorf("--hmac-secret-file: %w; name a file that this user may read and that has the secret alone", err))
	} else {
		for i, secret := range secrets {
			if len(secret) == 0 {
				fault(fmt.Errorf("--hmac-secret-file %s: is empty; write the secret into it that the clients have", o.SecretFiles[i]))
			}
		}
	}
	var backend server.Backend
	switch updates, files := o.UpdateServer != "", len(o.ZoneFiles) > 0; {
	case updates == files:
		fault(errors.New("give either --rfc2136-server or --zone-file: one says where records go"))
	case updates:
		made, err := o.updates(config)
		if err != nil {
			fault(err)
		}
		backend, config.servedBy = made, o.UpdateServer
	default:
		made, err := o.files()
		if err != nil {
			fault(err)
		}
		backend, config.servedBy = made, fmt.Sprintf("%d zone files", len(o.ZoneFiles))
	}
	if o.TSIGKeyFile != "" && o.UpdateServer == "" {
		fault(errors.New("--tsig-key-file goes with --rfc2136-server"))
	}
	if o.SharedNotes != "" && len(wrong) == 0 {
		shared, err := server.NewShared(backend, o.SharedNotes)
		if err != nil {
			fault(fmt.Errorf("--shared-notes-file: %w; name a file in a directory that this user may write", err))
		}
		backend = shared
	}
	settings := server.Config{
		Backend: backend, Secrets: config.secrets, Algorithm: config.requestsAreSigned, BasePath: o.BasePath,
		Logger: slog.New(logr.ToSlogHandler(klog.Background())),
	}
	if err := settings.Validate(); err != nil {
		fault(fmt.Errorf("--hmac-algorithm, --base-path: %w", err)) // each fault says which value it is about
	}
	if len(wrong) == 0 {
		var err error
		if config.handler, err = server.New(settings); err != nil {
			fault(err)
		}
	}
	return config, errors.Join(wrong...)
}

func (o *Options) updates(config *Config) (server.Backend, error) {
	address := o.UpdateServer
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), "53")
	}
	if o.TSIGKeyFile == "" {
		return nil, errors.New("--tsig-key-file: --rfc2136-server takes signed updates; name the file of a key")
	}
	keys, warnings, err := primary.ReadKeyFile(o.TSIGKeyFile)
	if err != nil {
		return nil, fmt.Errorf("--tsig-key-file: %w", err)
	}
	config.warnings = append(config.warnings, warnings...)
	key := transfer.Key{Name: keys[0].Name, Algorithm: string(keys[0].Algorithm), MAC: keys[0].MAC}
	backend, err := rfc2136.New(rfc2136.Config{Server: address, Key: key})
	if err != nil {
		return nil, fmt.Errorf("--rfc2136-server: %w", err)
	}
	return backend, nil
}

func (o *Options) files() (server.Backend, error) {
	var wrong []error
	config := masterfile.Config{Files: map[name.Name]string{}, Check: o.Check, Reload: o.ReloadWith}
	for _, given := range o.ZoneFiles {
		text, path, ok := strings.Cut(given, "=")
		if !ok || path == "" {
			wrong = append(wrong, fmt.Errorf("--zone-file %q: must be ZONE=FILE", given))
			continue
		}
		zone, err := name.Parse(strings.TrimSuffix(text, ".") + ".")
		if err != nil {
			wrong = append(wrong, fmt.Errorf("--zone-file %q: %w", given, err))
			continue
		}
		if _, twice := config.Files[zone]; twice {
			wrong = append(wrong, fmt.Errorf("--zone-file %q: the zone has a file already", given))
		}
		config.Files[zone] = path
	}
	for flag, command := range map[string][]string{"--zone-check": o.Check, "--zone-reload": o.ReloadWith} {
		if slices.Contains(command, "") {
			wrong = append(wrong, fmt.Errorf("%s: has an empty argument", flag))
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	backend, err := masterfile.New(config)
	if err != nil {
		return nil, fmt.Errorf("--zone-file: %w", err)
	}
	return backend, nil
}

func readSecrets(files []string) ([][]byte, error) {
	var secrets [][]byte
	for _, path := range files {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		secret, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
		if len(secret) > maxSecret {
			return nil, fmt.Errorf("%s: longer than %d octets", path, maxSecret)
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

// Run serves until ctx ends (W3).
func (c *Config) Run(ctx context.Context, out io.Writer) error {
	for _, warning := range c.warnings {
		klog.Warning(warning)
	}
	listener, err := net.Listen("tcp", c.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w; name an address of this machine and a free port", err)
	}
	serving := &http.Server{
		Handler: c.handler, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: answerTime, IdleTimeout: answerTime, MaxHeaderBytes: 1 << 14,
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(klog.Background()), slog.LevelInfo),
	}
	ended := make(chan error, 1)
	scheme := "http"
	if c.tlsCert != "" {
		scheme = "https"
		go func() { ended <- serving.ServeTLS(listener, c.tlsCert, c.tlsKey) }()
	} else {
		go func() { ended <- serving.Serve(listener) }()
	}
	fmt.Fprintf(out, "ready: %s://%s before %s\n", scheme, listener.Addr(), c.servedBy)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := serving.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests were cut off after %s: %w", patience, err), serving.Close())
	}
	return nil
}
