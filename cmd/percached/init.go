package main

import (
	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
)

func initCommand() *cobra.Command {
	var encrypt bool
	cmd := &cobra.Command{
		Use: "init", Short: "Make a data folder, also an encrypted one", Args: cobra.NoArgs,
		Long: `Makes an empty data folder. Other commands make one too, but only init makes an encrypted
one: with --encrypt, percached encrypts documents, answers, questions, tensors, the index,
waiting uploads and backups. A passphrase protects the key: percached asks for it, or
reads it from the file that --key-file names. Nobody can read the folder without the
passphrase, so keep it elsewhere too.

To encrypt the data of a plain folder, write a backup, make an encrypted folder, and
restore the backup there.`,
		Example: `  percached init --encrypt
  percached init --encrypt --key-file /etc/percached/key --data /srv/percached`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			c := conf.Now()
			p := &cmdline.Printer{W: cmd.OutOrStdout()}
			if encrypt {
				if err := home.Encrypt(c.Data, c.KeySource(), encryption.DefaultCost()); err != nil {
					return err
				}
				p.Line("Made the encrypted data folder %s. Without the passphrase its data is lost.", c.Data)
				return p.Err
			}
			if home.Exists(c.Data) {
				return fault.New(fault.Conflict, "percached: init", "%s exists already; name another folder with --data", c.Data)
			}
			h, err := home.Open(c.Data, c.KeySource())
			if err != nil {
				return err
			}
			if err := h.Close(); err != nil {
				return err
			}
			p.Line("Made the data folder %s.", c.Data)
			return p.Err
		},
	}
	linkFlags(cmd, "key-file")
	cmd.Flags().BoolVar(&encrypt, "encrypt", false, "Encrypt the data folder")
	return cmd
}

func rekeyCommand() *cobra.Command {
	var next string
	cmd := &cobra.Command{
		Use: "rekey", Short: "Change the passphrase of an encrypted data folder", Args: cobra.NoArgs,
		Long: `Changes the passphrase of an encrypted data folder. percached encrypts the key of the data
anew, not the data, so this takes a moment, and a daemon may be running. Backups keep
the passphrase of their time. If somebody may know the old passphrase and have a copy of
the folder, make a new folder with another key: see docs/encryption.md.`,
		Example: `  percached rekey
  percached rekey --key-file /etc/percached/key --new-key-file /etc/percached/key.new`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			c := conf.Now()
			if !home.Exists(c.Data) {
				return noFolder(c.Data)
			}
			if err := home.ChangeSecret(c.Data, c.KeySource(), encryption.Source{File: next, Terminal: true}, encryption.DefaultCost()); err != nil {
				return err
			}
			p := &cmdline.Printer{W: cmd.OutOrStdout()}
			p.Line("Changed the passphrase of %s.", c.Data)
			return p.Err
		},
	}
	linkFlags(cmd, "key-file")
	cmd.Flags().StringVar(&next, "new-key-file", "", "File with the new passphrase (default: a question at the terminal)")
	return cmd
}
