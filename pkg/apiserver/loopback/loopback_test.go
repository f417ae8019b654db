// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	restclient "k8s.io/client-go/rest"

	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/test/must"
)

// The client trusts the server by the certificate for its name, whatever certificate other clients see, and sends the
// token.
func TestApplyTo_letsTheOwnClientIn(t *testing.T) {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	others := must.Get(pki.Issue(nil, pki.Serving("others", []string{"dns.example"}), time.Now(), time.Hour))(t)
	options := genericoptions.NewSecureServingOptions()
	options.Listener = listener
	options.ServerCert.GeneratedCert = must.Get(dynamiccertificates.NewStaticCertKeyContent("others", others.CertPEM, others.KeyPEM))(t)
	config := &genericapiserver.Config{}
	must.Succeed(t, ApplyTo(config, options))
	stop := make(chan struct{})
	stopped, _, err := config.SecureServing.Serve(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		io.WriteString(w, request.Header.Get("Authorization"))
	}), time.Second, stop)
	must.Succeed(t, err)
	defer func() { close(stop); <-stopped }()

	own := config.LoopbackClientConfig
	client := must.Get(restclient.HTTPClientFor(own))(t)
	answer := must.Get(client.Get(own.Host))(t)
	defer answer.Body.Close()
	if text := must.Get(io.ReadAll(answer.Body))(t); own.BearerToken == "" || string(text) != "Bearer "+own.BearerToken {
		t.Errorf("the server has the token %q, want %q", text, own.BearerToken)
	}
	if left := time.Until(answer.TLS.PeerCertificates[0].NotAfter); left < 50*365*24*time.Hour {
		t.Errorf("the certificate ends in %s", left)
	}
}
