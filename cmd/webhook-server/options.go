// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"kubi.zone/kubizone/cmd/webhook-server/externaldns"
	"kubi.zone/kubizone/cmd/webhook-server/masterfile"
	"kubi.zone/kubizone/cmd/webhook-server/rfc2136"
	"kubi.zone/kubizone/cmd/webhook-server/server"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
)

const maxSecret = 1 << 16

type options struct {
	listen          string
	tlsCert, tlsKey string
	basePath        string
	secretFiles     []string
	algorithm       string
	updateServer    string
	tsigKeyFile     string
	zoneFiles       []string
	externalDNS     string
	types           []string
	plainText       bool
	sharedNotes     string
	check, reload   []string
}

// newOptions has a check as strict as that of named for a primary zone.
func newOptions() *options {
	types := []string{}
	for _, t := range externaldns.ListedTypes {
		types = append(types, t.String())
	}
	return &options{listen: ":7100", algorithm: string(protocol.SHA256), types: types,
		check: []string{"named-checkzone", "-i", "local", "-k", "fail"}, reload: []string{"rndc", "reload"}}
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.listen, "listen", o.listen, "address and port to listen on")
	flags.StringVar(&o.tlsCert, "tls-cert-file", o.tlsCert, "certificate for https; without one it serves http, where requests are "+
		"signed and readable")
	flags.StringVar(&o.tlsKey, "tls-private-key-file", o.tlsKey, "its key")
	flags.StringVar(&o.basePath, "base-path", o.basePath, "base path of the protocol, as in the URL of the clients: /dns")
	flags.StringSliceVar(&o.secretFiles, "hmac-secret-file", o.secretFiles, "file whose octets are the shared secret; repeated while "+
		"clients change to a new one")
	flags.StringVar(&o.algorithm, "hmac-algorithm", o.algorithm, "SHA256 or SHA512, the algorithm of the clients")
	flags.StringVar(&o.updateServer, "rfc2136-server", o.updateServer, "HOST[:PORT] of the DNS server to write into by dynamic update")
	flags.StringVar(&o.tsigKeyFile, "tsig-key-file", o.tsigKeyFile, "file of the TSIG key that signs updates, as tsig-keygen writes it")
	flags.StringSliceVar(&o.zoneFiles, "zone-file", o.zoneFiles, "ZONE=FILE to write into, instead of --rfc2136-server; repeated for more")
	flags.StringVar(&o.externalDNS, "external-dns-url", o.externalDNS, "URL of a webhook provider of external-dns to write by, "+
		"such as http://127.0.0.1:8888 for external-dns --webhook-server")
	flags.StringSliceVar(&o.types, "external-dns-types", o.types, "types that the provider writes and lists; NAPTR and PTR are the others "+
		"that external-dns knows")
	flags.BoolVar(&o.plainText, "external-dns-plain-text", o.plainText, "the provider has texts of TXT without the quotes of a zone file, "+
		"as that of Azure")
	flags.StringVar(&o.sharedNotes, "shared-notes-file", o.sharedNotes, "for zones with other writers: file in which the server notes "+
		"its own records; records of others are kept, and a conflicting write is answered 409. Without the file each write replaces the "+
		"records there")
	flags.StringSliceVar(&o.check, "zone-check", o.check, "command, with its first arguments, that checks whether a new file loads: it "+
		"gets zone and file; empty for none")
	flags.StringSliceVar(&o.reload, "zone-reload", o.reload, "command, with its first arguments, that reloads a zone at the name "+
		"server: it gets the zone; empty for none")
}

func (o *options) makeServer(logger *slog.Logger) (*webhookServer, error) {
	var wrong []error
	fault := func(flag string, err error) { wrong = append(wrong, fmt.Errorf("%s: %w", flag, err)) }
	if _, _, err := net.SplitHostPort(o.listen); err != nil {
		fault("--listen", fmt.Errorf("%q must be [ADDRESS]:PORT", o.listen))
	}
	if (o.tlsCert == "") != (o.tlsKey == "") {
		fault("--tls-cert-file and --tls-private-key-file", errors.New("give both or none"))
	}
	if err := o.judgeSecrets(); err != nil {
		fault("--hmac-secret-file", err)
	}
	backend, target, err := o.openBackend(logger)
	if err != nil {
		wrong = append(wrong, err)
	}
	if o.tsigKeyFile != "" && o.updateServer == "" {
		fault("--tsig-key-file", errors.New("goes with --rfc2136-server; give both or none"))
	}
	if o.plainText && o.externalDNS == "" {
		fault("--external-dns-plain-text", errors.New("goes with --external-dns-url; give both or none"))
	}
	if o.sharedNotes != "" && len(wrong) == 0 {
		if backend, err = server.NewShared(backend, o.sharedNotes); err != nil {
			fault("--shared-notes-file", fmt.Errorf("%w; name a file in a directory that this user may write", err))
		}
	}
	config := server.Config{Backend: backend, Secrets: o.readSecrets, Algorithm: protocol.Algorithm(o.algorithm), BasePath: o.basePath,
		Logger: logger}
	if err := config.Validate(); err != nil {
		fault("--hmac-algorithm, --base-path", err) // errors name the value
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	handler, err := server.New(config)
	return &webhookServer{listen: o.listen, tlsCert: o.tlsCert, tlsKey: o.tlsKey, handler: handler, target: target, logger: logger}, err
}

func (o *options) openBackend(logger *slog.Logger) (backend server.Backend, target string, err error) {
	given := 0
	for _, is := range []bool{o.updateServer != "", len(o.zoneFiles) > 0, o.externalDNS != ""} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, "", errors.New("--rfc2136-server, --zone-file, --external-dns-url: give one of them; it says where records go")
	case o.updateServer != "":
		backend, err = o.openUpdates(logger)
		return backend, o.updateServer, err
	case o.externalDNS != "":
		backend, err = o.openExternalDNS(logger)
		return backend, o.externalDNS, err
	}
	backend, err = o.openFiles()
	return backend, "zone files", err
}

func (o *options) openUpdates(logger *slog.Logger) (server.Backend, error) {
	address := transfer.AddPort(o.updateServer)
	if o.tsigKeyFile == "" {
		return nil, errors.New("--tsig-key-file: --rfc2136-server takes signed updates; name the file of a key")
	}
	keys, warnings, err := tsig.ReadKeyFile(o.tsigKeyFile)
	if err != nil {
		return nil, fmt.Errorf("--tsig-key-file: %w", err)
	}
	for _, warning := range warnings {
		logger.Warn(warning)
	}
	key := transfer.Key{Name: keys[0].Name, Algorithm: string(keys[0].Algorithm), MAC: keys[0].MAC}
	backend, err := rfc2136.New(rfc2136.Config{Server: address, Key: key})
	if err != nil {
		return nil, fmt.Errorf("--rfc2136-server: %w", err)
	}
	return backend, nil
}

func (o *options) openExternalDNS(logger *slog.Logger) (server.Backend, error) {
	config := externaldns.Config{URL: o.externalDNS, PlainText: o.plainText, Logger: logger}
	for _, text := range o.types {
		t, err := rdata.ParseType(text)
		if err != nil {
			return nil, fmt.Errorf("--external-dns-types: %w", err)
		}
		config.Types = append(config.Types, t)
	}
	backend, err := externaldns.New(config)
	if err != nil {
		return nil, fmt.Errorf("--external-dns-url, --external-dns-types: %w", err)
	}
	return backend, nil
}

func (o *options) openFiles() (server.Backend, error) {
	var wrong []error
	config := masterfile.Config{Files: map[name.Name]string{}, Check: o.check, Reload: o.reload}
	for _, given := range o.zoneFiles {
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
			wrong = append(wrong, fmt.Errorf("--zone-file %q: the zone has a file already; name one file for each zone", given))
		}
		config.Files[zone] = path
	}
	for flag, command := range map[string][]string{"--zone-check": o.check, "--zone-reload": o.reload} {
		if slices.Contains(command, "") {
			wrong = append(wrong, fmt.Errorf("%s: has an empty argument; remove it", flag))
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

// judgeSecrets rejects missing secrets, with which no client could sign, and empty secrets, with which any could.
func (o *options) judgeSecrets() error {
	if len(o.secretFiles) == 0 {
		return errors.New("name at least one; without a secret no request is answered")
	}
	secrets, err := o.readSecrets()
	if err != nil {
		return fmt.Errorf("%w; name a file that this user may read and that has the secret alone", err)
	}
	for i, secret := range secrets {
		if len(secret) == 0 {
			return fmt.Errorf("%s is empty; write the secret into it that the clients have", o.secretFiles[i])
		}
	}
	return nil
}

func (o *options) readSecrets() ([][]byte, error) {
	var secrets [][]byte
	for _, path := range o.secretFiles {
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
