//! `man` and `completions`: what a shell has of the program.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// `cosmark man`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark man | man -l -
  cosmark man --dir ~/.local/share/man/man1 && man cosmark-run")]
pub struct ManArgs {
    /// Write cosmark.1, cosmark-run.1 and so on into this directory
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// `cosmark completions`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark completions bash > ~/.local/share/bash-completion/completions/cosmark
  cosmark completions zsh > ~/.zfunc/_cosmark                  with fpath+=~/.zfunc before compinit in ~/.zshrc
  cosmark completions fish > ~/.config/fish/completions/cosmark.fish")]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}
