// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

type options struct {
	cluster    *kubeconfig.Options
	noBrowser  bool
	withParent bool
	port       uint16
	file       string
}

func NewCommand() *cobra.Command {
	o := &options{cluster: kubeconfig.NewOptions()}
	command := &cobra.Command{
		Use:   "console",
		Short: "show zones, names and deliveries in a browser",
		Long: `Show on pages of 127.0.0.1, with the rights of your kubeconfig: the state of all zones, a search of the entries of a
zone or of all, changes by serial with the command that takes them back, deliveries, rules and DNSSEC; the way of a name to its
servers, a question whether you may have a name, and the plan of manifests. Nothing is written and nothing is installed. Without
-n pages show all namespaces, or that of the context if you may not list all. A browser is opened on a file that only you may
read; Enter prints an address for another browser.`,
		Example: "  kubectl kubizone console\n  kubectl kubizone console --no-browser --port 8053",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return o.run(command.Context(), command.InOrStdin(), command.OutOrStdout())
		},
	}
	flags := command.Flags()
	o.cluster.AddFlagsWithNamespace(flags)
	flags.BoolVar(&o.noBrowser, "no-browser", false, "only print the address")
	flags.Uint16Var(&o.port, "port", 0, "port of 127.0.0.1; 0 takes a free one")
	flags.StringVar(&o.file, "open-file", "", "file of mode 0600 that opens the console in a browser (default: one in a new directory)")
	// kubizone up starts the console as a child process, and closes its standard input to end it.
	flags.BoolVar(&o.withParent, "with-parent", false, "end when standard input ends")
	if err := flags.MarkHidden("with-parent"); err != nil {
		panic(err)
	}
	return command
}

// run serves the pages until ctx ends. The file that opens the console is gone afterwards, and so is a directory made
// for it.
func (o *options) run(ctx context.Context, in io.Reader, out io.Writer) error {
	config, namespace, err := o.cluster.Client()
	if err != nil {
		return err
	}
	api, err := newReading(config, o.cluster.Namespace(), namespace)
	if err != nil {
		return err
	}
	file, err := o.placeFile()
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(file)
		if o.file == "" {
			_ = os.Remove(filepath.Dir(file))
		}
	}()
	// 127.0.0.1 alone: the pages have the rights of the kubeconfig, so no other machine may reach them.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(o.port))))
	if err != nil {
		return fmt.Errorf("--port %d: %w; leave it out to take a free one", o.port, err)
	}
	say := func(format string, args ...any) { _, _ = terminal.Fprintf(out, format+"\n", args...) }
	door := newDoor(listener.Addr().String(), file, say)
	// The file has the first token before a browser opens it.
	address, err := door.renew()
	if err != nil {
		listener.Close()
		return err
	}
	say("console for %s, read-only", config.Host)
	o.printAddress(ctx, say, address, file)
	return runServer(ctx, o, listener, door, newSite(api, door), in, say)
}

// placeFile returns the path of the file that opens the console: of --open-file, or in a new directory that only this
// user may read.
func (o *options) placeFile() (string, error) {
	if o.file != "" {
		return reserveFile(o.file)
	}
	directory, err := os.MkdirTemp("", "kubizone-console-")
	if err != nil {
		return "", fmt.Errorf("the file that opens the console: %w; name another by --open-file", err)
	}
	return filepath.Join(directory, "open.html"), nil
}

// reserveFile creates the file with mode 0600 and returns its absolute path. An existing file is an error: another user
// may have placed the file, and could read the token in it.
func reserveFile(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", fmt.Errorf("--open-file %s: there is a file, which the console would overwrite: remove it, or name another", path)
	case err != nil:
		return "", fmt.Errorf("--open-file: %w; name a new file in a directory that only you may write", err)
	}
	if err := file.Close(); err != nil {
		return "", fmt.Errorf("--open-file %s: %w", path, err)
	}
	return filepath.Abs(path)
}

func (o *options) printAddress(ctx context.Context, say func(format string, args ...any), address, file string) {
	switch {
	case o.withParent:
		// kubizone up prints the lines into its own output, perhaps a log. The file has the token, and the log must
		// not.
		say("open %s in a browser", file)
	case o.noBrowser:
		say("open within a minute, once: %s", address)
		say("or at any time, in a browser of this machine: %s", file)
	default:
		if err := openBrowser(ctx, file); err != nil {
			say("no browser could be opened (%v): open %s", err, file)
		}
		say("Enter prints an address for another browser")
	}
}

// openBrowser opens a file that redirects to the console. The address of the console is no argument, because it has a
// secret, and every user of the machine can read the arguments of a process.
func openBrowser(ctx context.Context, file string) error {
	var command *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		command = exec.CommandContext(ctx, "open", file)
	case "windows":
		command = exec.CommandContext(ctx, "rundll32", "url.dll,FileProtocolHandler", file)
	default:
		command = exec.CommandContext(ctx, "xdg-open", file)
	}
	if err := command.Start(); err != nil {
		return err
	}
	go func() { _ = command.Wait() }() // the launcher's exit code says nothing about the browser
	return nil
}

// runServer serves until ctx ends or a part fails, and closes the listener. Each line of in makes a new token, and with
// --with-parent the end of in stops the server.
func runServer(ctx context.Context, o *options, listener net.Listener, door *door, site *site, in io.Reader,
	say func(format string, args ...any)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{Handler: door.guardPages(site.serveRequest), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute,
		// An open stream of events has no write timeout here: streamPage sets a deadline for each event.
		MaxHeaderBytes: 16 << 10, BaseContext: func(net.Listener) context.Context { return ctx }}
	group, ctx := errgroup.WithContext(ctx)
	// errgroup cancels ctx after the first error, so a file that cannot be written ends the server.
	group.Go(func() error { return door.keepOpen(ctx.Done()) })
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error { <-ctx.Done(); return server.Close() })
	go func() { // outside the group, because ctx does not interrupt a read of a terminal
		for lines := bufio.NewScanner(in); lines.Scan(); {
			// A new token ends the printed address before. Browsers that are in keep their cookies.
			if address, err := door.renew(); err == nil && !o.withParent {
				say("open within a minute, once: %s", address)
			}
		}
		if o.withParent {
			stop()
		}
	}()
	return group.Wait()
}
