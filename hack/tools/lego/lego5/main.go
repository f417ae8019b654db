// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command lego5 gets a certificate with the library and the dynamic update provider of lego 5, whose command, with the
// clients of all clouds, takes an hour to build. A separate module keeps the library out of the product.
//
//	lego5 DIRECTORY_URL RESOLVER FILE NAME...
//
// Queries for aliases go to RESOLVER, and the certificate is written to FILE. lego's variables DNSUPDATE_* and
// LEGO_CA_CERTIFICATES set the rest.
package main

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"os"

	"github.com/go-acme/lego/v5/acme"
	"github.com/go-acme/lego/v5/certcrypto"
	"github.com/go-acme/lego/v5/certificate"
	"github.com/go-acme/lego/v5/challenge/dns01"
	"github.com/go-acme/lego/v5/lego"
	"github.com/go-acme/lego/v5/providers/dns/dnsupdate"
	"github.com/go-acme/lego/v5/registration"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type user struct {
	key     crypto.Signer
	account *acme.ExtendedAccount
}

func (u *user) GetEmail() string                       { return "team@example.net" }
func (u *user) GetRegistration() *acme.ExtendedAccount { return u.account }
func (u *user) GetPrivateKey() crypto.Signer           { return u.key }

func run(ctx context.Context, args []string) error {
	if len(args) < 4 {
		return errors.New("usage: lego5 DIRECTORY_URL RESOLVER FILE NAME...")
	}
	directory, resolver, file, names := args[0], args[1], args[2], args[3:]
	dns01.SetDefaultClient(dns01.NewClient(&dns01.Options{RecursiveNameservers: []string{resolver}}))
	key, err := certcrypto.GeneratePrivateKey(certcrypto.EC256)
	if err != nil {
		return err
	}
	u := &user{key: key}
	config := lego.NewConfig(u)
	config.CADirURL = directory
	client, err := lego.NewClient(config)
	if err != nil {
		return err
	}
	provider, err := dnsupdate.NewDNSProvider()
	if err != nil {
		return err
	}
	if err := client.Challenge.SetDNS01Provider(provider, dns01.DisableAuthoritativeNssPropagationRequirement()); err != nil {
		return err
	}
	if u.account, err = client.Registration.Register(ctx, registration.RegisterOptions{TermsOfServiceAgreed: true}); err != nil {
		return err
	}
	got, err := client.Certificate.Obtain(ctx, certificate.ObtainRequest{Domains: names, KeyType: certcrypto.EC256})
	if err != nil {
		return err
	}
	return os.WriteFile(file, got.Certificate, 0o600)
}
