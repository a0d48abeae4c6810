//! Requests that make, export or test keys.

use super::{Expected, Maker, Request, VARIABLE_TOKEN_ROOM};
use crate::load::native::{self, CipherJob};
use crate::load::operation::Cipher;
use crate::load::{LabError, Workload, keys};
use wire::bounds::KEYWORD_BYTES;
use wire::verb::{self, Room, TestAlgorithm, TestProcess, TokenLength, VariableAlgorithm, VariableKeyForm};

impl Maker<'_> {
    /// As in the published table: an operational DES KEYGENKY, from its skeleton.
    pub(super) fn key_generate(&self) -> Result<Request, LabError> {
        use verb::key_generate::*;
        let skeleton = self.deriving_skeleton()?;
        let ask = Ask {
            key_form: b"OP  ",
            key_length: b"        ",
            key_type_1: b"TOKEN   ",
            key_type_2: b"        ",
            generated_key_identifier_1: (&skeleton).into(),
            ..Ask::new()
        };
        Ok(self::Request::new(&ask, Expected::Token(GENERATED_KEY_IDENTIFIER_1, 0x01)))
    }

    /// An AES-256 key in a token of variable length.
    pub(super) fn key_generate2(&self) -> Result<Request, LabError> {
        use verb::key_generate2::*;
        let ask = generate2(VariableKeyForm::Op, b"CIPHER  ");
        Ok(self::Request::new(&ask, Expected::Token(GENERATED_KEY_IDENTIFIER_1, 0x01)))
    }

    /// An AES-256 key in two copies, one under an EXPORTER key; each job has an EXPORTER key of its own.
    pub(super) fn key_generate2_opex(&mut self) -> Result<Request, LabError> {
        use verb::key_generate2::*;
        let exporter = self.ask(&generate2(VariableKeyForm::Op, b"EXPORTER"))?;
        let ask = Ask {
            key_type_2: b"CIPHER  ",
            kek_key_identifier_2: exporter.got().generated_key_identifier_1.into(),
            generated_key_identifier_2: Room::of(VARIABLE_TOKEN_ROOM),
            ..generate2(VariableKeyForm::Opex, b"CIPHER  ")
        };
        Ok(self::Request::new(&ask, Expected::Token(GENERATED_KEY_IDENTIFIER_2, 0x02)))
    }

    /// A MAC key of double length under an EXPORTER key; each job has keys of its own.
    pub(super) fn key_export(&mut self) -> Result<Request, LabError> {
        use verb::key_export::*;
        let (exporter, source) = (self.generated(b"EXPORTER")?, self.generated(b"MAC     ")?);
        let ask = Ask {
            key_type: b"TOKEN   ",
            source_key_identifier: (&source).into(),
            exporter_key_identifier: (&exporter).into(),
            ..Ask::new()
        };
        let external = self.ask(&ask)?.got().target_key_token.to_vec();
        Ok(self::Request::new(&ask, Expected::Bytes(TARGET_KEY_TOKEN, external)))
    }

    /// The pattern of a TDES key: zeros, enciphered with it.
    pub(super) fn key_test(&mut self, workload: &Workload, job: usize) -> Result<Request, LabError> {
        use verb::key_test::*;
        let key = keys::des_key(job, 24);
        let zeros = CipherJob::over(self.engine, Cipher::Tdes3, &key, &[0; 8])
            .map_err(native::refused(workload.operation))?;
        let token = self.data_key(&key, false, job)?;
        let ask = Ask {
            algorithm: Some(TestAlgorithm::EncZero),
            key_identifier: (&token).into(),
            value_1: Some(&[0; 8]),
            value_2: Some(&[0; 8]),
            ..Ask::new(TestProcess::Generate)
        };
        Ok(self::Request::new(&ask, Expected::Bytes(VALUE_2, zeros[..4].to_vec())))
    }

    /// A random DES key of double length.
    fn generated(&mut self, key_type: &[u8; KEYWORD_BYTES]) -> Result<Vec<u8>, LabError> {
        use verb::key_generate::*;
        let generated = self.ask(&Ask {
            key_form: b"OP  ",
            key_length: b"DOUBLE  ",
            key_type_1: key_type,
            key_type_2: b"        ",
            ..Ask::new()
        })?;
        Ok(generated.got().generated_key_identifier_1.to_vec())
    }

    /// The skeleton of a KEYGENKY key for DUKPT.
    fn deriving_skeleton(&self) -> Result<Vec<u8>, LabError> {
        self.key_skeleton("KEYGENKY", Some(TokenLength::Double), &["UKPT"])
    }
}

/// A request for an AES-256 key of this type in the first of the tokens that Key_Generate2 makes.
fn generate2(form: VariableKeyForm, key_type: &[u8; KEYWORD_BYTES]) -> verb::key_generate2::Ask<'_> {
    use verb::key_generate2::*;
    Ask {
        clear_key_bit_length: 256,
        key_type_1: key_type,
        key_type_2: b"        ",
        generated_key_identifier_1: Room::of(VARIABLE_TOKEN_ROOM),
        ..Ask::new(VariableAlgorithm::Aes, form)
    }
}
