//! The words of GOAL's text.

use super::FileError;
use super::fields::count;

/// A word of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// A keyword or a label.
    Word(&'a str),
    /// Digits, perhaps after a minus sign.
    Number(&'a str),
    /// `:`, `{` or `}`.
    Mark(char),
    /// The end of a line.
    LineEnd,
    /// The end of the file.
    End,
}

impl Token<'_> {
    /// For messages.
    pub fn told(self) -> String {
        match self {
            Token::Word(text) | Token::Number(text) => format!("{text:?}"),
            Token::Mark(mark) => format!("`{mark}`"),
            Token::LineEnd => "the end of the line".to_owned(),
            Token::End => "the end of the file".to_owned(),
        }
    }
}

/// Goes over the text, word by word.
pub struct Lexer<'a> {
    rest: &'a str,
    /// The line of what comes next.
    line: usize,
    /// What comes next, and its line.
    next: (Token<'a>, usize),
}

impl<'a> Lexer<'a> {
    /// Before the first word.
    pub fn new(text: &'a str) -> Result<Lexer<'a>, FileError> {
        let rest = text.trim_start_matches('\u{feff}');
        let mut lexer = Lexer { rest, line: 1, next: (Token::End, 1) };
        lexer.next = lexer.scan()?;
        Ok(lexer)
    }

    /// The next word, which stays there.
    pub fn peek(&self) -> Token<'a> {
        self.next.0
    }

    /// The line of the next word.
    pub fn line(&self) -> usize {
        self.next.1
    }

    /// Takes the next word.
    pub fn take(&mut self) -> Result<Token<'a>, FileError> {
        let (token, _) = self.next;
        self.next = self.scan()?;
        Ok(token)
    }

    /// Takes the next word if it is this one.
    pub fn take_if(&mut self, token: Token<'_>) -> Result<bool, FileError> {
        let is_there = self.peek() == token;
        if is_there {
            self.take()?;
        }
        Ok(is_there)
    }

    /// Takes the next word, which must be this one.
    pub fn expect(&mut self, token: Token<'_>, wanted: &str) -> Result<(), FileError> {
        if self.take_if(token)? { Ok(()) } else { Err(self.unexpected(wanted)) }
    }

    /// Takes a whole number.
    pub fn number<T: TryFrom<u64>>(&mut self, name: &str) -> Result<T, FileError> {
        let Token::Number(digits) = self.peek() else {
            return Err(self.unexpected(&format!("{name}, a whole number")));
        };
        let number = count(digits, name).map_err(|message| FileError::new(self.line(), message))?;
        self.take()?;
        Ok(number)
    }

    /// Skips the ends of lines.
    pub fn skip_line_ends(&mut self) -> Result<(), FileError> {
        while self.peek() == Token::LineEnd {
            self.take()?;
        }
        Ok(())
    }

    /// That the next word should be another.
    pub fn unexpected(&self, wanted: &str) -> FileError {
        FileError::new(self.line(), format!("{} where there should be {wanted}", self.peek().told()))
    }

    fn scan(&mut self) -> Result<(Token<'a>, usize), FileError> {
        self.skip_blanks()?;
        let line = self.line;
        let Some(first) = self.rest.chars().next() else { return Ok((Token::End, line)) };
        let token = match first {
            '\n' => {
                self.line += 1;
                self.cut(1);
                Token::LineEnd
            }
            '{' | '}' | ':' => {
                self.cut(1);
                Token::Mark(first)
            }
            '-' | '0'..='9' => {
                let digits = self.rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                Token::Number(self.cut(1 + digits))
            }
            'a'..='z' | 'A'..='Z' => {
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                Token::Word(self.cut(self.rest.bytes().take_while(is_part).count()))
            }
            _ => return Err(FileError::new(line, format!("{first:?} begins no word of GOAL"))),
        };
        Ok((token, line))
    }

    fn cut(&mut self, bytes: usize) -> &'a str {
        let (word, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        word
    }

    fn skip_blanks(&mut self) -> Result<(), FileError> {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
            if self.rest.starts_with("//") {
                self.cut(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                let end = self.rest[2..].find("*/");
                let end =
                    end.ok_or_else(|| FileError::new(self.line, "this comment has no end; write */"))?;
                self.line += self.cut(end + 4).matches('\n').count();
            } else {
                return Ok(());
            }
        }
    }
}
